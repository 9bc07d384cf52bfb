// Vae trains a variational autoencoder of digits (Kingma and Welling, 2014): an encoder gives the
// mean and the variance of a few hidden numbers, a decoder draws the image from a sample of them.
package main

import (
	"context"
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

const hidden = 8

// most is the bound of the test images' negative log-likelihood, in nats per image, that the model
// must reach.
const most = 27

// vae is the network. Its output is the bound itself, for each image.
type vae struct {
	Encoder, Decoder nn.Sequential
}

// Forward returns the bound: the cross-entropy of the pixels, and the divergence of the hidden
// numbers from a normal distribution.
func (v *vae) Forward(x *nd.Array) *nd.Array {
	code := v.Encoder.Forward(x)
	mean, logVar := code.SliceAxis(1, 0, hidden), code.SliceAxis(1, hidden, 2*hidden)
	z := mean.Add(logVar.MulScalar(0.5).Exp().Mul(nd.RandomNormalLike(mean, nd.NormalLikeParams{})))
	pixels := float64(x.Shape()[1])
	drawn := loss.SigmoidBCE{}.Forward(v.Decoder.Forward(z), x).MulScalar(pixels)
	apart := mean.Square().Add(logVar.Exp()).Sub(logVar).SubScalar(1).Sum(1).MulScalar(0.5)
	return drawn.Add(apart)
}

func main() {
	bound, err := run(context.Background(), 40)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("bound %.3f nats\n", bound)
	if bound > most {
		log.Fatalf("want at most %v", most)
	}
}

// run trains for some epochs, and returns the bound of the test images.
func run(ctx context.Context, epochs int) (float64, error) {
	train, test, err := images.Digits().Arrays()
	if err != nil {
		return 0, err
	}
	nd.SetSeed(3)
	pixels := train[0].Size() / train[0].Shape()[0]
	net := gluon.New(&vae{
		nn.Sequential{&nn.Dense{Units: 64, Activation: "tanh"}, &nn.Dense{Units: 2 * hidden}},
		nn.Sequential{&nn.Dense{Units: 64, Activation: "tanh"}, &nn.Dense{Units: pixels}}})
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return 0, err
	}
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: 3e-3})
	if err != nil {
		return 0, err
	}
	for range epochs {
		for batch, err := range data.NewLoader(data.Arrays(train...), 64,
			data.Shuffle(7)).Batches(ctx) {
			if err != nil {
				return 0, err
			}
			x := batch.Data.Reshape(0, -1)
			net.Forward(autograd.Train().Watch(x)).Backward()
			if err := trainer.Step(batch.Size); err != nil {
				return 0, err
			}
		}
	}
	return net.Forward(test[0].Reshape(0, -1)).Mean().Item()
}
