package zoo

import (
	"fmt"

	"gomx/gluon/nn"
)

// densenets are the first channels, the growth and the layers per stage of DenseNets, by their
// numbers of layers.
var densenets = map[int]struct {
	first, growth int
	stages        []int
}{
	121: {64, 32, []int{6, 12, 24, 16}},
	161: {96, 48, []int{6, 12, 36, 24}},
	169: {64, 32, []int{6, 12, 32, 32}},
	201: {64, 32, []int{6, 12, 48, 32}},
}

// DenseNet makes a network of 121, 161, 169 or 201 layers, each of which reads the outputs of all
// layers before it in its stage (Huang et al., Densely Connected Convolutional Networks). Options:
// Classes, Dropout, Bottleneck, Prefix.
//
// MXNet: gluon.model_zoo.vision.get_densenet.
func DenseNet(layers int, opts ...Option) *Classifier {
	c := configure("DenseNet", opts, "dropout", "bn_size")
	spec, ok := densenets[layers]
	if !ok {
		panic(misuse("DenseNet", "%d layers, want 121, 161, 169 or 201", layers))
	}
	features := nn.Sequential{conv(spec.first, 7, 2, 3), &nn.BatchNorm{}, relu,
		&nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2), Pad: nn.Square(1)}}
	channels := spec.first
	for i, n := range spec.stages {
		stage := &named{prefix: fmt.Sprintf("stage%d_", i+1)}
		for range n {
			next := nn.Sequential{&nn.BatchNorm{}, relu, conv(c.bnSize*spec.growth, 1, 1, 0),
				&nn.BatchNorm{}, relu, conv(spec.growth, 3, 1, 1)}
			if c.dropout > 0 {
				next = append(next, &nn.Dropout{Rate: c.dropout})
			}
			stage.Blocks = append(stage.Blocks, parallel(nn.Identity{}, next))
		}
		features = append(features, stage)
		channels += n * spec.growth
		if i < len(spec.stages)-1 {
			channels /= 2
			features = append(features, nn.Sequential{&nn.BatchNorm{}, relu,
				conv(channels, 1, 1, 0), &nn.AvgPool2D{}})
		}
	}
	features = append(features, &nn.BatchNorm{}, relu, &nn.AvgPool2D{Size: nn.Square(7)},
		nn.Flatten{})
	return classifier("densenet", c, features, &nn.Dense{Units: c.classes})
}
