// Mlp trains a network of two layers on images by arrays alone: weights, gradients and the moving
// averages of the update are arrays, and every operation is a call.
package main

import (
	"flag"
	"fmt"
	"log"

	"gomx/autograd"
	images "gomx/examples/data"
	"gomx/metric"
	nd "gomx/ndarray"
)

const (
	hidden = 128
	batch  = 100  // images of a step
	least  = 0.86 // share of test images that must be classified correctly
)

func main() {
	dir := flag.String("data", images.Dir,
		"folder of Fashion-MNIST's files; without them digits are used")
	flag.Parse()
	set, epochs := images.Open(*dir), 8
	if set.Name == "digits" {
		epochs = 40
	}
	accuracy, err := run(set, epochs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: accuracy %.4f\n", set.Name, accuracy)
	if accuracy < least {
		log.Fatalf("want at least %v", least)
	}
}

// layer is a weight of shape (outputs, inputs) and a bias, each with the momentum of its update.
type layer struct {
	weight, bias, weightMom, biasMom *nd.Array
}

func newLayer(inputs, outputs int, seed uint64) *layer {
	l := &layer{
		weight: nd.Normal(0, 0.05, nd.Shape{outputs, inputs}, nd.Seed(seed)),
		bias:   nd.Zeros(nd.Shape{outputs}),
	}
	l.weightMom, l.biasMom = l.weight.ZerosLike(), l.bias.ZerosLike()
	l.weight.AttachGrad()
	l.bias.AttachGrad()
	return l
}

// forward returns x·weightᵀ + bias.
func (l *layer) forward(x *nd.Array) *nd.Array {
	return nd.FullyConnected(x, l.weight, l.bias,
		nd.FullyConnectedParams{NumHidden: l.bias.Size()})
}

// update changes the layer by the gradients of the last Backward.
func (l *layer) update(lr float64) {
	p := nd.SGDMomUpdateParams{LR: lr, Momentum: 0.9, RescaleGrad: nd.Some(1.0 / batch)}
	nd.SGDMomUpdate(l.weight, l.weight.Grad(), l.weightMom, p)
	nd.SGDMomUpdate(l.bias, l.bias.Grad(), l.biasMom, p)
}

// network is two layers with a rectifier and dropout between them.
type network []*layer

// forward returns a row of unnormalized log-probabilities per image. Dropout drops only under a
// training tape.
func (n network) forward(x *nd.Array) *nd.Array {
	y := n[0].forward(x.Flatten()).Relu()
	return n[1].forward(nd.Dropout(y, nd.DropoutParams{P: nd.Some(0.2)}))
}

// run trains for some epochs, and returns the share of test images that are classified correctly.
func run(set images.Set, epochs int) (float64, error) {
	train, err := set.Train(batch, 1)
	if err != nil {
		return 0, err
	}
	test, err := set.Test(batch)
	if err != nil {
		return 0, err
	}
	nd.SetSeed(3)
	net := network{newLayer(set.Size*set.Size, hidden, 1), newLayer(hidden, len(set.Classes), 2)}
	for epoch := range epochs {
		lr := 0.03 * (1 - float64(epoch)/float64(epochs))
		for b, err := range train.Epoch() {
			if err != nil {
				return 0, err
			}
			nd.Scope(func(s *nd.Scoped) { // memory of the step is free again at its end
				y := net.forward(autograd.Train().Watch(s.Enter(b.Data[0])))
				nd.SoftmaxCrossEntropy(y, s.Enter(b.Label[0])).Backward()
				for _, l := range net {
					l.update(lr)
				}
			})
		}
	}
	accuracy := metric.Accuracy()
	for b, err := range test.Epoch() {
		if err != nil {
			return 0, err
		}
		n := batch - b.Pad
		err := accuracy.Update([]*nd.Array{b.Label[0].Slice(0, n)},
			[]*nd.Array{net.forward(b.Data[0]).Slice(0, n)})
		if err != nil {
			return 0, err
		}
	}
	_, values := accuracy.Value()
	return values[0], nil
}
