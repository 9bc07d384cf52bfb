// Imperative trains a logistic regression on images with arrays and autograd, without symbol and
// module. The program examples/mnist uses symbol and module.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"gomx/autograd"
	"gomx/device"
	"gomx/examples/data"
	dataio "gomx/io"
	"gomx/metric"
	nd "gomx/ndarray"
)

// least is the share of test images that must be classified correctly after the usual epochs.
const least = 0.8

func main() {
	dir := flag.String("data", data.Dir,
		"folder of Fashion-MNIST's files; without them digits are used")
	epochs := flag.Int("epochs", 0, "number of passes over the images (0: 5, or 60 for digits)")
	batch := flag.Int("batch", 100, "number of images per step")
	lr := flag.Float64("lr", 0.1, "learning rate")
	dev := flag.String("device", "cpu", "device to compute on: cpu, or gpu in binaries with the "+
		"tag cuda")
	flag.Parse()
	on, err := device.Parse(*dev)
	var accuracy float64
	if err == nil {
		accuracy, err = run(data.Open(*dir), *epochs, *batch, *lr, on)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "imperative:", err)
		os.Exit(1)
	}
	fmt.Printf("validation accuracy %.4f\n", accuracy)
	if *epochs == 0 && accuracy < least {
		fmt.Fprintln(os.Stderr, "imperative: want at least", least)
		os.Exit(1)
	}
}

// regression is y = softmax(x·wᵀ + b).
type regression struct {
	w, b *nd.Array
}

func newRegression(inputs, classes int, on device.Device) *regression {
	r := &regression{
		w: nd.Normal(0, 0.01, nd.Shape{classes, inputs}, nd.Seed(7), nd.On(on)),
		b: nd.Zeros(nd.Shape{classes}, nd.On(on)),
	}
	r.w.AttachGrad()
	r.b.AttachGrad()
	return r
}

// scores returns a row of unnormalized log-probabilities per image.
func (r *regression) scores(x *nd.Array) *nd.Array {
	return nd.FullyConnected(nd.Flatten(x), r.w, r.b,
		nd.FullyConnectedParams{NumHidden: r.b.Size()})
}

// step trains on one batch. It is asynchronous: it waits for no result.
func (r *regression) step(batch *dataio.Batch, lr float64) {
	nd.Scope(func(s *nd.Scoped) {
		x, label := s.Enter(batch.Data[0]).To(r.w.Device()),
			s.Enter(batch.Label[0]).To(r.w.Device())
		tape := autograd.Train()
		loss := nd.SoftmaxCrossEntropy(r.scores(tape.Watch(x)), label)
		loss.Backward()
		sgd := nd.SGDUpdateParams{LR: lr, RescaleGrad: nd.Some(1 / float64(x.Shape()[0]))}
		nd.SGDUpdate(r.w, r.w.Grad(), sgd)
		nd.SGDUpdate(r.b, r.b.Grad(), sgd)
	})
}

// accuracy scores the model on all test images, without a tape.
func (r *regression) accuracy(test *dataio.Table) (float64, error) {
	m := metric.Accuracy()
	for batch, err := range test.Epoch() {
		if err != nil {
			return 0, err
		}
		n := test.BatchSize() - batch.Pad
		out := r.scores(batch.Data[0].To(r.w.Device())).To(device.CPU())
		err := m.Update([]*nd.Array{batch.Label[0].Slice(0, n)}, []*nd.Array{out.Slice(0, n)})
		if err != nil {
			return 0, err
		}
	}
	_, values := m.Value()
	return values[0], nil
}

// run trains the model and returns the share of test images that it classifies correctly.
func run(set data.Set, epochs, batch int, lr float64, on device.Device) (accuracy float64,
	err error) {
	train, err := set.Train(batch, 1)
	if err != nil {
		return 0, err
	}
	test, err := set.Test(batch)
	if err != nil {
		return 0, err
	}
	fmt.Printf("%s: %d images for training, %d for validation\n", set.Name, train.Samples(),
		test.Samples())
	if epochs == 0 {
		if epochs = 5; set.Name == "digits" {
			epochs = 60
		}
	}
	model := newRegression(set.Size*set.Size, len(set.Classes), on)
	for epoch := range epochs {
		start := time.Now()
		images := 0
		for batch, err := range train.Epoch() {
			if err != nil {
				return 0, err
			}
			model.step(batch, lr)
			images += train.BatchSize()
		}
		if accuracy, err = model.accuracy(test); err != nil {
			return 0, err
		}
		fmt.Printf("epoch %d  accuracy %.4f  %.0f images/s\n", epoch, accuracy,
			float64(images)/time.Since(start).Seconds())
	}
	return accuracy, nil
}
