package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
)

// SqueezeNet makes the network of version "1.0" or "1.1" (Iandola et al., SqueezeNet: AlexNet-Level
// Accuracy with 50x Fewer Parameters). Options: Classes, Prefix.
//
// MXNet: gluon.model_zoo.vision.get_squeezenet.
func SqueezeNet(version string, opts ...Option) *Classifier {
	c := configure("SqueezeNet", opts)
	pool := func() gluon.Block {
		return &nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2), Ceil: true}
	}
	first := func(channels, kernel int) gluon.Block {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel), Strides: nn.Square(2)}
	}
	var features nn.Sequential
	switch version {
	case "1.0":
		features = nn.Sequential{first(96, 7), relu, pool(), fire(16), fire(16), fire(32), pool(),
			fire(32), fire(48), fire(48), fire(64), pool(), fire(64)}
	case "1.1":
		features = nn.Sequential{first(64, 3), relu, pool(), fire(16), fire(16), pool(), fire(32),
			fire(32), pool(), fire(48), fire(48), fire(64), fire(64)}
	default:
		panic(misuse("SqueezeNet", "version %q, want 1.0 or 1.1", version))
	}
	output := nn.Sequential{&nn.Conv2D{Channels: c.classes, Kernel: nn.Square(1)}, relu,
		&nn.AvgPool2D{Size: nn.Square(13)}, nn.Flatten{}}
	return classifier("squeezenet", c, append(features, &nn.Dropout{Rate: 0.5}), output)
}

// fire squeezes its input to few channels, which two convolutions of four times as many expand.
func fire(channels int) gluon.Block {
	part := func(channels, kernel int) nn.Sequential {
		return nn.Sequential{&nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel),
			Pad: nn.Square(kernel / 2)}, relu}
	}
	return nn.Sequential{part(channels, 1), parallel(part(4*channels, 1), part(4*channels, 3))}
}
