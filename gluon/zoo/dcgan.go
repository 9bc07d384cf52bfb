package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
)

// DCGANConfig describes the two networks of a DCGAN, for pictures of 64×64.
type DCGANConfig struct {
	Channels int // of the pictures; 3 by default
	Width    int // channels of the widest picture within; 64 by default
	Outputs  int // scores of the discriminator; 1 by default, 2 in MXNet's example
}

// complete gives the sizes that are 0 their defaults.
func (c DCGANConfig) complete() DCGANConfig {
	for _, v := range []struct {
		size  *int
		other int
	}{{&c.Channels, 3}, {&c.Width, 64}, {&c.Outputs, 1}} {
		if *v.size == 0 {
			*v.size = v.other
		}
	}
	return c
}

// dcganInit is the initializer of weights.
var dcganInit = initializer.Normal{Sigma: 0.02}

// DCGANGenerator makes pictures of numbers between -1 and 1 out of noise of shape (n, size, 1, 1),
// 100 numbers in the paper (Radford et al., Unsupervised Representation Learning with Deep
// Convolutional Generative Adversarial Networks).
func DCGANGenerator(c DCGANConfig) nn.Sequential {
	c = c.complete()
	up := func(channels, stride, pad int) gluon.Block {
		return &nn.Conv2DTranspose{Channels: channels, Kernel: nn.Square(4),
			Strides: nn.Square(stride), Pad: nn.Square(pad), NoBias: true, WeightInit: dcganInit}
	}
	g := nn.Sequential{up(8*c.Width, 1, 0), &nn.BatchNorm{}, relu}
	for _, n := range []int{4, 2, 1} {
		g = append(g, up(n*c.Width, 2, 1), &nn.BatchNorm{}, relu)
	}
	return append(g, up(c.Channels, 2, 1), nn.Activation("tanh"))
}

// DCGANDiscriminator scores pictures: whether they are real. The result has the shape
// (n, Outputs).
func DCGANDiscriminator(c DCGANConfig) nn.Sequential {
	c = c.complete()
	down := func(channels, stride, pad int) gluon.Block {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(4), Strides: nn.Square(stride),
			Pad: nn.Square(pad), NoBias: true, WeightInit: dcganInit}
	}
	leaky := nn.LeakyReLU{Alpha: 0.2}
	d := nn.Sequential{down(c.Width, 2, 1), leaky}
	for _, n := range []int{2, 4, 8} {
		d = append(d, down(n*c.Width, 2, 1), &nn.BatchNorm{}, leaky)
	}
	return append(d, down(c.Outputs, 1, 0), nn.Flatten{})
}
