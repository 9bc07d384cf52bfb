package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// resnets are blocks per stage and channels of residual networks, by their numbers of layers.
var resnets = map[int]struct {
	bottleneck       bool
	blocks, channels []int
}{
	18:  {false, []int{2, 2, 2, 2}, []int{64, 64, 128, 256, 512}},
	34:  {false, []int{3, 4, 6, 3}, []int{64, 64, 128, 256, 512}},
	50:  {true, []int{3, 4, 6, 3}, []int{64, 256, 512, 1024, 2048}},
	101: {true, []int{3, 4, 23, 3}, []int{64, 256, 512, 1024, 2048}},
	152: {true, []int{3, 8, 36, 3}, []int{64, 256, 512, 1024, 2048}},
}

// ResNet makes a residual network of version 1 (He et al., Deep Residual Learning for Image
// Recognition) or 2 (He et al., Identity Mappings in Deep Residual Networks), of 18, 34, 50, 101 or
// 152 layers. Options: Classes, Thumbnail, Prefix.
//
// MXNet: gluon.model_zoo.vision.get_resnet.
func ResNet(version, layers int, opts ...Option) *Classifier {
	c := configure("ResNet", opts, "thumbnail")
	spec, ok := resnets[layers]
	if !ok {
		panic(misuse("ResNet", "%d layers, want 18, 34, 50, 101 or 152", layers))
	}
	block := residualV1
	switch version {
	case 1:
	case 2:
		block = residualV2
	default:
		panic(misuse("ResNet", "version %d, want 1 or 2", version))
	}
	var features nn.Sequential
	if version == 2 {
		features = append(features, &nn.BatchNorm{NoScale: true, NoCenter: true})
	}
	if c.thumbnail {
		features = append(features, conv3(spec.channels[0], 1, 0))
	} else {
		features = append(features, conv(spec.channels[0], 7, 2, 3), &nn.BatchNorm{}, relu,
			&nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2), Pad: nn.Square(1)})
	}
	for i, n := range spec.blocks {
		r := residual{spec.bottleneck, spec.channels[i], spec.channels[i+1], min(i+1, 2)}
		stage := &named{prefix: []string{"stage1_", "stage2_", "stage3_", "stage4_"}[i]}
		for range n {
			stage.Blocks = append(stage.Blocks, block(r))
			r.in, r.stride = r.out, 1
		}
		features = append(features, stage)
	}
	if version == 2 {
		features = append(features, &nn.BatchNorm{}, relu)
	}
	features = append(features, nn.GlobalAvgPool2D{})
	if version == 2 {
		features = append(features, nn.Flatten{})
	}
	class := []string{"", "resnetv1", "resnetv2"}[version]
	return classifier(class, c, features,
		&nn.Dense{Units: c.classes, InUnits: spec.channels[len(spec.channels)-1]})
}

// residual describes a residual block.
type residual struct {
	bottleneck      bool
	in, out, stride int
}

// conv3 is a 3×3 convolution without bias.
func conv3(channels, stride, in int) *nn.Conv2D {
	c := conv(channels, 3, stride, 1)
	c.InChannels = in
	return c
}

// projection is the convolution that fits the input of a block to its output.
func (r residual) projection() *nn.Conv2D {
	c := conv(r.out, 1, r.stride, 0)
	c.InChannels = r.in
	return c
}

// ResidualV1 adds its input to the output of Body before the activation.
type ResidualV1 struct {
	gluon.Hooks
	Body       nn.Sequential
	Downsample nn.Sequential // fits the input to the output; nil: it fits

	first bool // the input is the first operand of the sum
}

// residualV1 makes a residual block of version 1.
func residualV1(r residual) gluon.Block {
	b := &ResidualV1{first: !r.bottleneck}
	if r.bottleneck {
		narrow, wide := conv(r.out/4, 1, r.stride, 0), conv(r.out, 1, 1, 0)
		narrow.NoBias, wide.NoBias = false, false
		b.Body = nn.Sequential{narrow, &nn.BatchNorm{}, relu, conv3(r.out/4, 1, r.out/4),
			&nn.BatchNorm{}, relu, wide, &nn.BatchNorm{}}
		b.first = false
	} else {
		b.Body = nn.Sequential{conv3(r.out, r.stride, r.in), &nn.BatchNorm{}, relu,
			conv3(r.out, 1, r.out), &nn.BatchNorm{}}
	}
	if r.in != r.out {
		b.Downsample = nn.Sequential{r.projection(), &nn.BatchNorm{}}
	}
	return b
}

// Forward returns relu(x + Body(x)).
func (b *ResidualV1) Forward(x *nd.Array) *nd.Array {
	call := b.Enter(b, x)
	y, rest := b.Body.Forward(x), x
	if b.Downsample != nil {
		rest = b.Downsample.Forward(x)
	}
	if b.first {
		return call.Leave(relu.Forward(rest.Add(y)))
	}
	return call.Leave(relu.Forward(y.Add(rest)))
}

// Scope gives the block no name, as MXNet does.
func (b *ResidualV1) Scope() gluon.Scope { return gluon.Scope{} }

// ResidualV2 adds its input to the output of convolutions, each behind a normalization and an
// activation.
type ResidualV2 struct {
	gluon.Hooks
	BN1        *nn.BatchNorm
	Conv1      *nn.Conv2D
	BN2        *nn.BatchNorm
	Conv2      *nn.Conv2D
	BN3        *nn.BatchNorm // nil: there are two convolutions
	Conv3      *nn.Conv2D
	Downsample *nn.Conv2D // fits the input to the output; nil: it fits
}

// residualV2 makes a residual block of version 2.
func residualV2(r residual) gluon.Block {
	b := &ResidualV2{BN1: &nn.BatchNorm{}, BN2: &nn.BatchNorm{}}
	if r.bottleneck {
		b.Conv1, b.Conv2 = conv(r.out/4, 1, 1, 0), conv3(r.out/4, r.stride, r.out/4)
		b.BN3, b.Conv3 = &nn.BatchNorm{}, conv(r.out, 1, 1, 0)
	} else {
		b.Conv1, b.Conv2 = conv3(r.out, r.stride, r.in), conv3(r.out, 1, r.out)
	}
	if r.in != r.out {
		b.Downsample = r.projection()
	}
	return b
}

// Forward returns the sum of x and of the convolutions' output.
func (b *ResidualV2) Forward(x *nd.Array) *nd.Array {
	call, rest := b.Enter(b, x), x
	y := relu.Forward(b.BN1.Forward(x))
	if b.Downsample != nil {
		rest = b.Downsample.Forward(y)
	}
	y = relu.Forward(b.BN2.Forward(b.Conv1.Forward(y)))
	y = b.Conv2.Forward(y)
	if b.BN3 != nil {
		y = b.Conv3.Forward(relu.Forward(b.BN3.Forward(y)))
	}
	return call.Leave(y.Add(rest))
}

// Scope gives the block no name, as MXNet does.
func (b *ResidualV2) Scope() gluon.Scope { return gluon.Scope{} }
