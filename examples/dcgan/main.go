// Dcgan draws digits by a generative adversarial network (Radford et al., 2016): a generator makes
// pictures of noise, a discriminator tells them from pictures of writers, and each learns by the
// other. A classifier judges the result by the inception score (Salimans et al., 2016).
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
	"gomx/gluon/estimator"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

const (
	noise = 16 // numbers that a picture is made of
	batch = 32 // pictures of a step

	// least is the inception score that the pictures must reach. It is 1 if all look like the same
	// digit or like none, and at most 10: if all look like one of ten digits, equally often.
	least = 6
)

// generator returns pictures of 8×8 numbers from -1 to 1.
func generator() *gluon.Net {
	up := func(channels, kernel, stride, pad int) *nn.Conv2DTranspose {
		return &nn.Conv2DTranspose{Channels: channels, Kernel: nn.Square(kernel), NoBias: true,
			Strides: nn.Square(stride), Pad: nn.Square(pad)}
	}
	return gluon.New(nn.Sequential{
		up(64, 2, 1, 0), &nn.BatchNorm{}, nn.Activation("relu"),
		up(32, 4, 2, 1), &nn.BatchNorm{}, nn.Activation("relu"),
		up(1, 4, 2, 1), nn.Activation("tanh")})
}

// discriminator returns a score: above zero for pictures of writers.
func discriminator() *gluon.Net {
	down := func(channels, kernel, stride, pad int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel), NoBias: true,
			Strides: nn.Square(stride), Pad: nn.Square(pad)}
	}
	return gluon.New(nn.Sequential{
		down(32, 4, 2, 1), nn.LeakyReLU{Alpha: 0.2},
		down(64, 4, 2, 1), &nn.BatchNorm{}, nn.LeakyReLU{Alpha: 0.2},
		down(1, 2, 1, 0), nn.Flatten{}})
}

func main() {
	drawn, written, err := run(context.Background(), 60)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("inception score %.2f, of writers' pictures %.2f\n", drawn, written)
	if drawn < least {
		log.Fatalf("want at least %v", least)
	}
}

// run trains for some epochs, and returns the scores of drawn pictures and of test pictures.
func run(ctx context.Context, epochs int) (drawn, written float64, err error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, 0, err
	}
	for _, set := range [][]*nd.Array{train, test} {
		set[0] = set[0].MulScalar(2).SubScalar(1)
	}
	nd.SetSeed(3)
	g, d := generator(), discriminator()
	var trainers []*gluon.Trainer
	for i, net := range []*gluon.Net{g, d} {
		err1 := net.Init(initializer.Normal{Sigma: 0.05}, gluon.Seed(uint64(i)))
		t, err2 := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 1e-3, Beta1: nd.Some(0.5)})
		if err := errors.Join(err1, err2); err != nil {
			return 0, 0, err
		}
		trainers = append(trainers, t)
	}
	real, fake := nd.Ones(nd.Shape{batch, 1}), nd.Zeros(nd.Shape{batch, 1})
	bce := loss.SigmoidBCE{}
	loader := data.NewLoader(data.Arrays(train...), batch, data.Shuffle(7),
		data.LastBatch(data.Discard))
	for range epochs {
		for b, err := range loader.Batches(ctx) {
			if err != nil {
				return 0, 0, err
			}
			z := nd.Normal(0, 1, nd.Shape{batch, noise, 1, 1})
			tape := autograd.Train()
			pictures := g.Forward(tape.Watch(z))
			// The discriminator sees the pictures alone: detached, they lead to no generator.
			tape2 := autograd.Train()
			bce.Forward(d.Forward(tape2.Watch(b.Data)), real).Add(
				bce.Forward(d.Forward(tape2.Watch(pictures.Detach())), fake)).Backward()
			err := trainers[1].Step(batch)
			bce.Forward(d.Forward(pictures), real).Backward()
			if err := errors.Join(err, trainers[0].Step(batch)); err != nil {
				return 0, 0, err
			}
		}
	}
	j, err := judge(ctx, train)
	if err != nil {
		return 0, 0, err
	}
	z := nd.Normal(0, 1, nd.Shape{500, noise, 1, 1})
	drawn, err = score(j, g.Forward(z))
	written, err2 := score(j, test[0])
	return drawn, written, errors.Join(err, err2)
}

// judge trains a classifier of digits.
func judge(ctx context.Context, train []*nd.Array) (*gluon.Net, error) {
	net := gluon.New(nn.Sequential{
		&nn.Conv2D{Channels: 16, Kernel: nn.Square(3), Pad: nn.Square(1), Activation: "relu"},
		&nn.MaxPool2D{}, &nn.Dense{Units: 64, Activation: "relu"}, &nn.Dense{Units: 10}})
	_, err := estimator.Fit(ctx, net, loss.SoftmaxCE{},
		data.NewLoader(data.Arrays(train...), 64, data.Shuffle(7)), estimator.Epochs(15),
		estimator.Init(initializer.Xavier{}, gluon.Seed(1)),
		estimator.Optimize(optimizer.Adam{LR: 3e-3}))
	return net, err
}

// score returns the inception score of pictures: exp of the mean divergence of a picture's classes
// from the classes of all pictures.
func score(judge *gluon.Net, pictures *nd.Array) (float64, error) {
	p := judge.Forward(pictures).Softmax()
	all := p.Mean(0).ExpandDims(0)
	apart := nd.BroadcastSub(p.AddScalar(1e-9).Log(), all.AddScalar(1e-9).Log()).Mul(p)
	return apart.Sum(1).Mean().Exp().Item()
}
