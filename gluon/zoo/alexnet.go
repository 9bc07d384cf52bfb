package zoo

import "gomx/gluon/nn"

// AlexNet makes the network of Krizhevsky, One Weird Trick for Parallelizing Convolutional Neural
// Networks. Options: Classes, Prefix.
//
// MXNet: gluon.model_zoo.vision.alexnet.
func AlexNet(opts ...Option) *Classifier {
	c := configure("AlexNet", opts)
	conv := func(channels, kernel, stride, pad int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel), Strides: nn.Square(stride),
			Pad: nn.Square(pad), Activation: "relu"}
	}
	pool := func() *nn.MaxPool2D {
		return &nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2)}
	}
	return classifier("alexnet", c, nn.Sequential{
		conv(64, 11, 4, 2), pool(), conv(192, 5, 1, 2), pool(), conv(384, 3, 1, 1),
		conv(256, 3, 1, 1), conv(256, 3, 1, 1), pool(), nn.Flatten{},
		&nn.Dense{Units: 4096, Activation: "relu"}, &nn.Dropout{Rate: 0.5},
		&nn.Dense{Units: 4096, Activation: "relu"}, &nn.Dropout{Rate: 0.5},
	}, &nn.Dense{Units: c.classes})
}
