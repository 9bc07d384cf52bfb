package zoo

import (
	"gomx/gluon/nn"
	"gomx/initializer"
)

// vggs are the convolutions before each pooling of a VGG network, by its number of layers.
var vggs = map[int][]int{
	11: {1, 1, 2, 2, 2}, 13: {2, 2, 2, 2, 2}, 16: {2, 2, 3, 3, 3}, 19: {2, 2, 4, 4, 4},
}

// VGG makes a network of 11, 13, 16 or 19 layers (Simonyan and Zisserman, Very Deep Convolutional
// Networks for Large-Scale Image Recognition). Options: Classes, BatchNorm, Prefix.
//
// MXNet: gluon.model_zoo.vision.get_vgg.
func VGG(layers int, opts ...Option) *Classifier {
	c := configure("VGG", opts, "batch_norm")
	spec, ok := vggs[layers]
	if !ok {
		panic(misuse("VGG", "%d layers, want 11, 13, 16 or 19", layers))
	}
	var features nn.Sequential
	for i, n := range spec {
		for range n {
			features = append(features, &nn.Conv2D{Channels: min(64<<i, 512),
				Kernel: nn.Square(3), Pad: nn.Square(1), WeightInit: initializer.Xavier{
					RndType: "gaussian", FactorType: "out", Magnitude: 2}})
			if c.batchNorm {
				features = append(features, &nn.BatchNorm{})
			}
			features = append(features, relu)
		}
		features = append(features, &nn.MaxPool2D{Strides: nn.Square(2)})
	}
	dense := func(units int, activation string) *nn.Dense {
		return &nn.Dense{Units: units, Activation: activation,
			WeightInit: initializer.Normal{Sigma: 0.01}}
	}
	features = append(features, dense(4096, "relu"), &nn.Dropout{Rate: 0.5}, dense(4096, "relu"),
		&nn.Dropout{Rate: 0.5})
	return classifier("vgg", c, features, dense(c.classes, ""))
}
