package conformance

import (
	"strings"

	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// builders make gomx's blocks from the classes of gluon.nn and gluon.contrib.nn.
var builders map[string]func(a *blockArgs, s *blockSpec) (gluon.Block, error)

func init() {
	type build = func(a *blockArgs, s *blockSpec) (gluon.Block, error)
	plain := func(f func(a *blockArgs) gluon.Block) build {
		return func(a *blockArgs, _ *blockSpec) (gluon.Block, error) { return f(a), nil }
	}
	builders = map[string]build{
		"Dense":     plain(buildDense),
		"Embedding": plain(buildEmbedding),
		"Dropout":   plain(buildDropout),
		"BatchNorm": plain(buildBatchNorm),
		"SyncBatchNorm": plain(func(a *blockArgs) gluon.Block {
			arg(a, "num_devices", 1) // the batch is on one device here
			b := new(nn.SyncBatchNorm)
			readBatchNorm(a, &b.BatchNorm)
			return b
		}),
		"BatchNormReLU": plain(func(a *blockArgs) gluon.Block {
			b := new(nn.BatchNormReLU)
			readBatchNorm(a, &b.BatchNorm)
			return b
		}),
		"LayerNorm":       plain(buildLayerNorm),
		"GroupNorm":       plain(buildGroupNorm),
		"InstanceNorm":    plain(buildInstanceNorm),
		"Flatten":         plain(func(*blockArgs) gluon.Block { return nn.Flatten{} }),
		"Identity":        plain(func(*blockArgs) gluon.Block { return nn.Identity{} }),
		"SELU":            plain(func(*blockArgs) gluon.Block { return nn.SELU{} }),
		"GELU":            plain(func(*blockArgs) gluon.Block { return nn.GELU{} }),
		"Activation":      plain(buildActivation),
		"LeakyReLU":       plain(buildLeakyReLU),
		"PReLU":           plain(buildPReLU),
		"ELU":             plain(buildELU),
		"Swish":           plain(buildSwish),
		"ReflectionPad2D": plain(buildReflectionPad),
		"DeformableConvolution": plain(func(a *blockArgs) gluon.Block {
			return buildDeformable(a, false)
		}),
		"ModulatedDeformableConvolution": plain(func(a *blockArgs) gluon.Block {
			return buildDeformable(a, true)
		}),
		"Lambda": buildLambda, "HybridLambda": buildLambda,
		"Sequential": buildSequential, "HybridSequential": buildSequential,
		"Concurrent": buildConcurrent, "HybridConcurrent": buildConcurrent,
	}
	for _, class := range []string{"RNN", "LSTM", "GRU"} {
		builders[class] = func(a *blockArgs, s *blockSpec) (gluon.Block, error) {
			return buildRNN(a, s)
		}
	}
	for i, axes := range []string{"1D", "2D", "3D"} {
		n := i + 1
		builders["Conv"+axes] = plain(func(a *blockArgs) gluon.Block { return buildConv(a, n) })
		builders["Conv"+axes+"Transpose"] = plain(func(a *blockArgs) gluon.Block {
			return buildConvTranspose(a, n)
		})
		builders["MaxPool"+axes] = plain(func(a *blockArgs) gluon.Block {
			return buildMaxPool(a, n)
		})
		builders["AvgPool"+axes] = plain(func(a *blockArgs) gluon.Block {
			return buildAvgPool(a, n)
		})
		builders["PixelShuffle"+axes] = plain(func(a *blockArgs) gluon.Block {
			return &nn.PixelShuffle{Factor: a.ints("factor", n)}
		})
		builders["GlobalMaxPool"+axes] = plain(func(a *blockArgs) gluon.Block {
			return nn.GlobalMaxPool{}
		})
		builders["GlobalAvgPool"+axes] = plain(func(a *blockArgs) gluon.Block {
			return nn.GlobalAvgPool{}
		})
	}
}

// build makes the block of a spec.
func (s *blockSpec) build() (gluon.Block, error) {
	f := builders[s.Class]
	if f == nil {
		return nil, missing("block %s", s.Class)
	}
	a := s.arguments()
	b, err := f(a, s)
	if err != nil {
		return nil, err
	}
	return b, a.left(s.Class)
}

// children makes the blocks of the parts of a spec.
func (s *blockSpec) children() ([]gluon.Block, error) {
	var list []gluon.Block
	for i := range s.Children {
		b, err := s.Children[i].build()
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func buildSequential(_ *blockArgs, s *blockSpec) (gluon.Block, error) {
	list, err := s.children()
	return nn.Sequential(list), err
}

func buildConcurrent(a *blockArgs, s *blockSpec) (gluon.Block, error) {
	list, err := s.children()
	return &nn.Concurrent{Axis: arg(a, "axis", -1), Blocks: list}, err
}

func buildDense(a *blockArgs) gluon.Block {
	return &nn.Dense{Units: arg(a, "units", 0), InUnits: arg(a, "in_units", 0),
		KeepAxes: !arg(a, "flatten", true), NoBias: !arg(a, "use_bias", true),
		Activation: arg(a, "activation", "")}
}

func buildEmbedding(a *blockArgs) gluon.Block {
	return &nn.Embedding{Rows: arg(a, "input_dim", 0), Units: arg(a, "output_dim", 0),
		SparseGrad: arg(a, "sparse_grad", false)}
}

func buildDropout(a *blockArgs) gluon.Block {
	return &nn.Dropout{Rate: arg(a, "rate", 0.0), Axes: a.ints("axes", 0)}
}

func buildBatchNorm(a *blockArgs) gluon.Block {
	b := new(nn.BatchNorm)
	readBatchNorm(a, b)
	return b
}

func readBatchNorm(a *blockArgs, b *nn.BatchNorm) {
	b.Axis, b.Momentum = nd.Some(arg(a, "axis", 1)), nd.Some(arg(a, "momentum", 0.9))
	b.Eps, b.Channels = nd.Some(arg(a, "epsilon", 1e-5)), arg(a, "in_channels", 0)
	b.NoCenter, b.NoScale = !arg(a, "center", true), !arg(a, "scale", true)
	b.UseGlobalStats = arg(a, "use_global_stats", false)
}

func buildLayerNorm(a *blockArgs) gluon.Block {
	return &nn.LayerNorm{Axis: nd.Some(arg(a, "axis", -1)), Eps: nd.Some(arg(a, "epsilon", 1e-5)),
		NoCenter: !arg(a, "center", true), NoScale: !arg(a, "scale", true),
		Channels: arg(a, "in_channels", 0)}
}

func buildGroupNorm(a *blockArgs) gluon.Block {
	return &nn.GroupNorm{Groups: arg(a, "num_groups", 1), Eps: nd.Some(arg(a, "epsilon", 1e-5)),
		NoCenter: !arg(a, "center", true), NoScale: !arg(a, "scale", true)}
}

func buildInstanceNorm(a *blockArgs) gluon.Block {
	return &nn.InstanceNorm{Axis: nd.Some(arg(a, "axis", 1)), Eps: nd.Some(arg(a, "epsilon", 1e-5)),
		NoCenter: !arg(a, "center", true), Scale: arg(a, "scale", false),
		Channels: arg(a, "in_channels", 0)}
}

func buildActivation(a *blockArgs) gluon.Block { return nn.Activation(arg(a, "activation", "")) }

func buildLeakyReLU(a *blockArgs) gluon.Block { return nn.LeakyReLU{Alpha: arg(a, "alpha", 0.0)} }

func buildPReLU(a *blockArgs) gluon.Block { return &nn.PReLU{Channels: arg(a, "in_channels", 1)} }

func buildELU(a *blockArgs) gluon.Block { return nn.ELU{Alpha: nd.Some(arg(a, "alpha", 1.0))} }

func buildSwish(a *blockArgs) gluon.Block { return nn.Swish{Beta: nd.Some(arg(a, "beta", 1.0))} }

func buildReflectionPad(a *blockArgs) gluon.Block {
	return nn.ReflectionPad2D{Padding: a.ints("padding", 1)}
}

// buildLambda makes a function of one array from its name in mx.nd.
func buildLambda(a *blockArgs, _ *blockSpec) (gluon.Block, error) {
	name := arg(a, "function", "")
	functions := map[string]gluon.Func{"tanh": (*nd.Array).Tanh, "relu": (*nd.Array).Relu,
		"sigmoid": (*nd.Array).Sigmoid, "exp": (*nd.Array).Exp, "sqrt": (*nd.Array).Sqrt,
		"square": (*nd.Array).Square, "abs": (*nd.Array).Abs, "softmax": (*nd.Array).Softmax,
		"log_softmax": (*nd.Array).LogSoftmax, "negative": (*nd.Array).Neg,
		"flatten": (*nd.Array).Flatten}
	f := functions[strings.ToLower(name)]
	if f == nil {
		return nil, missing("function %q", name)
	}
	return f, nil
}

func buildConv(a *blockArgs, n int) gluon.Block {
	return &nn.Conv{Channels: arg(a, "channels", 0), Kernel: a.ints("kernel_size", n),
		Strides: a.ints("strides", n), Pad: a.ints("padding", n), Dilation: a.ints("dilation", n),
		Groups: arg(a, "groups", 1), InChannels: arg(a, "in_channels", 0),
		NoBias: !arg(a, "use_bias", true), Activation: arg(a, "activation", "")}
}

func buildConvTranspose(a *blockArgs, n int) gluon.Block {
	return &nn.ConvTranspose{Channels: arg(a, "channels", 0), Kernel: a.ints("kernel_size", n),
		Strides: a.ints("strides", n), Pad: a.ints("padding", n),
		OutputPad: a.ints("output_padding", n), Dilation: a.ints("dilation", n),
		Groups: arg(a, "groups", 1), InChannels: arg(a, "in_channels", 0),
		NoBias: !arg(a, "use_bias", true), Activation: arg(a, "activation", "")}
}

func buildDeformable(a *blockArgs, modulated bool) gluon.Block {
	return &nn.DeformableConvolution{Channels: arg(a, "channels", 0),
		Kernel: a.ints("kernel_size", 2), Strides: a.ints("strides", 2), Pad: a.ints("padding", 2),
		Dilation: a.ints("dilation", 2), Groups: arg(a, "groups", 1),
		InChannels: arg(a, "in_channels", 0), NoBias: !arg(a, "use_bias", true),
		Activation: arg(a, "activation", ""), DeformableConfig: nn.DeformableConfig{Modulated: modulated,
			OffsetGroups: arg(a, "num_deformable_group", 1),
			NoOffsetBias: !arg(a, "offset_use_bias", true)}}
}

func buildMaxPool(a *blockArgs, n int) gluon.Block {
	return &nn.MaxPool{Size: a.ints("pool_size", n), Strides: a.ints("strides", n),
		Pad: a.ints("padding", n), Ceil: arg(a, "ceil_mode", false)}
}

func buildAvgPool(a *blockArgs, n int) gluon.Block {
	return &nn.AvgPool{Size: a.ints("pool_size", n), Strides: a.ints("strides", n),
		Pad: a.ints("padding", n), Ceil: arg(a, "ceil_mode", false),
		ExcludePad: !arg(a, "count_include_pad", true)}
}
