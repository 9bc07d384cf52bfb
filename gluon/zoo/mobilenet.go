package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// MobileNet makes the network of Howard et al., MobileNets: Efficient Convolutional Neural Networks
// for Mobile Vision Applications. The multiplier scales the numbers of channels. Options: Classes,
// Prefix.
//
// MXNet: gluon.model_zoo.vision.get_mobilenet.
func MobileNet(multiplier float64, opts ...Option) *Classifier {
	c := configure("MobileNet", opts)
	scale := scaling("MobileNet", multiplier)
	features := active(relu, conv(scale(32), 3, 2, 1))
	in, stride := 32, 1
	for _, out := range []int{64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024} {
		if stride = 1; in != out && out > 64 {
			stride = 2
		}
		features = append(features, active(relu, perChannel(scale(in), stride))...)
		features = append(features, active(relu, conv(scale(out), 1, 1, 0))...)
		in = out
	}
	features = append(features, nn.GlobalAvgPool2D{}, nn.Flatten{})
	return classifier("mobilenet", c, features, &nn.Dense{Units: c.classes})
}

// MobileNetV2 makes the network of Sandler et al., MobileNetV2: Inverted Residuals and Linear
// Bottlenecks. The multiplier scales the numbers of channels. Options: Classes, Prefix.
//
// MXNet: gluon.model_zoo.vision.get_mobilenet_v2.
func MobileNetV2(multiplier float64, opts ...Option) *Classifier {
	c := configure("MobileNetV2", opts)
	scale := scaling("MobileNetV2", multiplier)
	features := active(relu6{}, conv(scale(32), 3, 2, 1))
	in := 32
	for i, stage := range []struct{ out, blocks, stride int }{{16, 1, 1}, {24, 2, 2}, {32, 3, 2},
		{64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}} {
		widen := 6
		if i == 0 {
			widen = 1
		}
		for range stage.blocks {
			features = append(features, linearBottleneck(scale(in), scale(stage.out), widen,
				stage.stride))
			in, stage.stride = stage.out, 1
		}
	}
	last := 1280
	if multiplier > 1 {
		last = scale(last)
	}
	features = append(features, active(relu6{}, conv(last, 1, 1, 0))...)
	features = append(features, nn.GlobalAvgPool2D{})
	pred := &predictor{conv(c.classes, 1, 1, 0)}
	return classifier("mobilenetv2", c, &named{"features_", features},
		&named{"output_", nn.Sequential{pred, nn.Flatten{}}})
}

// scaling scales a number of channels.
func scaling(network string, multiplier float64) func(channels int) int {
	if int(8*multiplier) < 1 {
		panic(misuse(network, "multiplier %v leaves no channels, want at least 0.125", multiplier))
	}
	return func(channels int) int { return int(float64(channels) * multiplier) }
}

// active is a convolution with normalization and activation.
func active(function gluon.Block, c *nn.Conv2D) nn.Sequential {
	return nn.Sequential{c, &nn.BatchNorm{}, function}
}

// perChannel is a 3×3 convolution of each channel by itself.
func perChannel(channels, stride int) *nn.Conv2D {
	c := conv(channels, 3, stride, 1)
	c.Groups = channels
	return c
}

// relu6 limits its input to the numbers from 0 to 6.
type relu6 struct{}

// Forward limits x.
func (relu6) Forward(x *nd.Array) *nd.Array { return nd.Clip(x, nd.ClipParams{AMin: 0, AMax: 6}) }

// Scope says how MXNet names the function.
func (relu6) Scope() gluon.Scope {
	return gluon.Scope{Prefix: "relu6", Numbered: true, Names: map[string]string{"": "relu6"}}
}

// predictor is the convolution that scores classes.
type predictor struct{ *nn.Conv2D }

// Scope says how MXNet names the convolution.
func (p *predictor) Scope() gluon.Scope {
	return gluon.Scope{Prefix: "pred_", Names: map[string]string{"": "fwd"}}
}

// LinearBottleneck widens its input, convolves each channel by itself, and narrows the result. If
// shapes agree, the input is added.
type LinearBottleneck struct {
	gluon.Hooks
	Out nn.Sequential

	shortcut bool
}

// linearBottleneck makes the block.
func linearBottleneck(in, out, widen, stride int) gluon.Block {
	b := &LinearBottleneck{shortcut: stride == 1 && in == out}
	b.Out = append(b.Out, active(relu6{}, conv(in*widen, 1, 1, 0))...)
	b.Out = append(b.Out, active(relu6{}, perChannel(in*widen, stride))...)
	b.Out = append(b.Out, conv(out, 1, 1, 0), &nn.BatchNorm{})
	return b
}

// Forward returns Out(x), or x + Out(x).
func (b *LinearBottleneck) Forward(x *nd.Array) *nd.Array {
	call, y := b.Enter(b, x), b.Out.Forward(x)
	if b.shortcut {
		y = y.Add(x)
	}
	return call.Leave(y)
}

// Scope says how MXNet names the block.
func (b *LinearBottleneck) Scope() gluon.Scope {
	return gluon.Scope{Prefix: "linearbottleneck", Numbered: true,
		Names: map[string]string{"": "elemwise_add0"}}
}
