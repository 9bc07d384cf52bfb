package gluon_test

import (
	"context"
	"errors"
	"fmt"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// A loop whose workers may become fewer and more. In a job of gomx launch -s 0 --policy shrink the
// trainer also has the options gluon.Store("allreduce") and gluon.InJob(ctx).
func ExampleElastic() {
	if err := survive(context.Background()); err != nil {
		panic(err)
	}
	// Output: 8 batches in 2 epochs, 8 steps
}

func survive(ctx context.Context) error {
	net := plain()
	if err := net.Init(initializer.Xavier{}); err != nil {
		return err
	}
	x := nd.Uniform(-1, 1, nd.Shape{32, 3}, nd.Seed(1))
	net.Forward(x) // finds the shapes of the parameters
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 0.01})
	if err != nil {
		return err
	}
	loader := data.NewLoader(data.Arrays(x, x.Sum(1).Gt(nd.Zeros(nd.Shape{32}))), 8, data.Shuffle(7))
	batches := 0
	elastic, err := gluon.NewElastic(trainer, loader, gluon.Keep(&batches))
	if err != nil {
		return err
	}
	train := func() error {
		for loader.Epoch() < 2 {
			for batch, err := range loader.Batches(ctx) {
				if err != nil {
					return err
				}
				out := net.Forward(autograd.Train().Watch(batch.Data))
				loss.SoftmaxCE{}.Forward(out, batch.Label).Backward()
				if err := trainer.Step(batch.Size * trainer.Workers()); err != nil {
					return err
				}
				batches++
				if err := elastic.Commit(); err != nil {
					return err
				}
			}
		}
		return elastic.Settle()
	}
	err = train()
	for errors.Is(err, gluon.ErrRegrouped) {
		if err = elastic.Recover(); err == nil {
			err = train()
		}
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d batches in %d epochs, %d steps\n", batches, loader.Epoch(), trainer.Steps())
	return trainer.Close()
}
