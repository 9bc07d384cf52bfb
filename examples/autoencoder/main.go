// Autoencoder squeezes images of digits into eight numbers and draws them again from these alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"gomx/autograd"
	images "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// least is the share of the variance of test images that the eight numbers must explain.
const least = 0.68

func main() {
	explained, err := run(context.Background(), 40)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("variance explained %.4f\n", explained)
	if explained < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for some epochs, and returns the share of the variance that is explained.
func run(ctx context.Context, epochs int) (float64, error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	pixels := train[0].Size() / train[0].Shape()[0]
	net := gluon.New(nn.Sequential{&nn.Dense{Units: 64, Activation: "tanh"}, &nn.Dense{Units: 8},
		&nn.Dense{Units: 64, Activation: "tanh"}, &nn.Dense{Units: pixels}})
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 3e-3})
	if err != nil {
		return 0, err
	}
	loader := data.NewLoader(data.Arrays(train...), 64, data.Shuffle(7))
	for range epochs {
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				return 0, err
			}
			x := batch.Data.Reshape(0, -1)
			y := net.Forward(autograd.Train().Watch(x))
			loss.L2{}.Forward(y, x).Backward()
			if err := trainer.Step(batch.Size); err != nil {
				return 0, err
			}
		}
	}
	x := test[0].Reshape(0, -1)
	missed, err1 := nd.BroadcastSub(x, net.Forward(x)).Square().Sum().Item()
	whole, err2 := nd.BroadcastSub(x, x.Mean(0).ExpandDims(0)).Square().Sum().Item()
	return 1 - missed/whole, errors.Join(err1, err2)
}
