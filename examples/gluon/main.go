// Gluon trains a convolutional network on images with a data loader, a tape and a trainer.
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
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// least is the share of test images that must be classified correctly.
const least = 0.88

func main() {
	set, epochs := images.Open(images.Dir), 3
	if set.Name == "digits" {
		epochs = 10
	}
	accuracy, err := run(context.Background(), set, epochs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("validation accuracy %.4f\n", accuracy)
	if accuracy < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for some epochs and returns the share of test images that are classified correctly.
func run(ctx context.Context, set images.Set, epochs int) (float64, error) {
	net := gluon.New(nn.Sequential{
		&nn.Conv2D{Channels: 16, Kernel: nn.Square(3), Pad: nn.Square(1), Activation: "relu"},
		&nn.MaxPool2D{}, &nn.Dense{Units: 64, Activation: "relu"}, &nn.Dense{Units: 10}})
	train, test, err := set.Arrays()
	if err := errors.Join(err, net.Init(initializer.Xavier{}, gluon.Seed(1))); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 5e-3})
	loader := data.NewLoader(data.Arrays(train...), 64, data.Shuffle(7), data.Workers(2))
	for range epochs {
		for batch, err2 := range loader.Batches(ctx) {
			if err := errors.Join(err, err2); err != nil {
				return 0, err
			}
			y := net.Forward(autograd.Train().Watch(batch.Data))
			loss.SoftmaxCE{}.Forward(y, batch.Label).Backward()
			err = trainer.Step(batch.Size)
		}
	}
	accuracy := metric.Accuracy()
	for batch, err2 := range data.NewLoader(data.Arrays(test...), 64).Batches(ctx) {
		if err = errors.Join(err, err2); err != nil {
			return 0, err
		}
		err = accuracy.Update([]*nd.Array{batch.Label}, []*nd.Array{net.Forward(batch.Data)})
	}
	_, values := accuracy.Value()
	return values[0], err
}
