package bench

import (
	"context"
	"time"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/gluon/rnn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// hybrid measures training of networks as values: run line by line, hybridized as peers/hybrid.py
// does it in MXNet, and hybridized beside the executor of package module.
func hybrid() ([]Workload, error) {
	words := nd.Shape{lstmSteps, 32}
	return []Workload{
		gluonTraining("hybrid.lenet.eager.bs64", "images/s", 64, 10, lenetBlock, false,
			nd.Shape{64, 1, 28, 28}),
		gluonTraining("hybrid.lenet.hybridized.bs64", "images/s", 64, 10, lenetBlock, true,
			nd.Shape{64, 1, 28, 28}),
		gluonTraining("hybrid.resnet18.hybridized.bs64.32", "images/s", 64, 4, resnet18Block, true,
			nd.Shape{64, 3, 32, 32}),
		gluonTraining("hybrid.lstm.hybridized.h200.bs32", "words/s", 32*lstmSteps, 4, wordsBlock,
			true, words),
		besideModule("hybrid.lenet.module", lenetBlock, lenet(), nd.Shape{64, 1, 28, 28}, 30,
			initializer.Xavier{}),
		besideModule("hybrid.resnet18.module", resnet18Block,
			resnet(false, []int{2, 2, 2, 2}, 10), nd.Shape{64, 3, 32, 32}, 6,
			initializer.Xavier{}),
		besideModule("hybrid.lstm.module", wordsBlock, wordsNet(words), words, 8,
			initializer.Uniform{}),
	}, nil
}

// gluonTraining measures samples per second of training steps of a network: the best of three runs
// of n steps after two to warm up.
func gluonTraining(name, unit string, samples, n int, make func() gluon.Block, hybridize bool,
	shape nd.Shape) Workload {
	run := func(ctx context.Context) (float64, error) {
		step, err := gluonStep(make(), hybridize, shape)
		if err != nil {
			return 0, err
		}
		s, err := bestOf(ctx, 3, n, step)
		return float64(samples) / s, err
	}
	return Workload{Name: name, Unit: unit, Run: run}
}

// bestOf returns the least seconds of a step in several runs of n steps, after two to warm up.
func bestOf(ctx context.Context, runs, n int, step func() error) (float64, error) {
	loop := func(n int) (float64, error) {
		start := time.Now()
		for range n {
			if err := step(); err != nil {
				return 0, err
			}
		}
		err := nd.WaitAll(ctx)
		return time.Since(start).Seconds() / float64(n), err
	}
	if _, err := loop(2); err != nil {
		return 0, err
	}
	least := 0.0
	for range runs {
		s, err := loop(n)
		if err != nil {
			return 0, err
		}
		if least == 0 || s < least {
			least = s
		}
	}
	return least, nil
}

// gluonStep returns a training step of a network and its loss on random data of a shape. The options
// are those of the hybridized network.
func gluonStep(b gluon.Block, hybridize bool, shape nd.Shape,
	opts ...gluon.HybridOption) (func() error, error) {
	return netStep(gluon.New(b), hybridize, shape, opts...)
}

// netStep is gluonStep for a network.
func netStep(net *gluon.Net, hybridize bool, shape nd.Shape,
	opts ...gluon.HybridOption) (func() error, error) {
	if err := net.Init(initializer.Xavier{}); err != nil {
		return nil, err
	}
	criterion := gluon.Wrap(loss.SoftmaxCE{}, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{loss.SoftmaxCE{}.Forward(in[0], in[1])}
	})
	if hybridize {
		net.Hybridize(opts...)
		criterion.Hybridize()
	}
	x, label := nd.Uniform(0, 1, shape), nd.Zeros(labels(shape))
	samples := label.Size()
	var trainer *gluon.Trainer
	return func() (err error) {
		nd.Scope(func(s *nd.Scoped) {
			y := net.Forward(autograd.Train().Watch(s.Enter(x)))
			criterion.Call(y, label)[0].Backward()
		})
		if trainer == nil {
			if trainer, err = gluon.NewTrainer(net.Params(),
				optimizer.SGD{LR: 0.01}); err != nil {
				return err
			}
		}
		return trainer.Step(samples)
	}, nil
}

// labels is the shape of the labels for data of a shape: one number per sample, or per word where
// the data are words.
func labels(shape nd.Shape) nd.Shape {
	if len(shape) == 2 {
		return nd.Shape{shape.Size()}
	}
	return shape[:1]
}

// besideModule measures how much faster hybridized training of a network is than the same network
// by package module's executor, in turn, both with the optimizer: 1 means equal. Both compute
// SoftmaxOutput, whose gradient needs no head gradient.
func besideModule(name string, make func() gluon.Block, net *sym.Symbol, shape nd.Shape,
	n int, init initializer.Initializer) Workload {
	run := func(ctx context.Context) (float64, error) {
		ours, err := headedStep(make(), shape)
		if err != nil {
			return 0, err
		}
		module, err := modulePush(net, shape, labels(shape), init, true)
		if err != nil {
			return 0, err
		}
		var a, b float64
		for range 9 {
			s, err := bestOf(ctx, 1, n, ours)
			if err != nil {
				return 0, err
			}
			t, err := bestOf(ctx, 1, n, module)
			if err != nil {
				return 0, err
			}
			a, b = lower(a, s), lower(b, t)
		}
		return b / a, nil
	}
	return Workload{Name: name, Unit: "x", Run: run, own: true}
}

// headedStep returns a training step of a network with SoftmaxOutput as a part of it.
func headedStep(b gluon.Block, shape nd.Shape) (func() error, error) {
	net := gluon.Wrap(b, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{nd.SoftmaxOutput(b.Forward(in[0]), in[1], nd.SoftmaxOutputParams{})}
	})
	if err := net.Init(initializer.Xavier{}); err != nil {
		return nil, err
	}
	net.Hybridize()
	x, label := nd.Uniform(0, 1, shape), nd.Zeros(labels(shape))
	var trainer *gluon.Trainer
	return func() (err error) {
		nd.Scope(func(s *nd.Scoped) {
			net.Call(autograd.Train().Watch(s.Enter(x)), label)[0].Backward()
		})
		if trainer == nil {
			if trainer, err = gluon.NewTrainer(net.Params(),
				optimizer.SGD{LR: 0.01}); err != nil {
				return err
			}
		}
		return trainer.Step(label.Size())
	}, nil
}

// lower returns the lower of two times, of which the first may be 0: none.
func lower(a, b float64) float64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// lenetBlock is the network of local.lenet.
func lenetBlock() gluon.Block {
	conv := func(channels int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(5), Activation: "tanh"}
	}
	return nn.Sequential{conv(20), &nn.MaxPool2D{}, conv(50), &nn.MaxPool2D{},
		&nn.Dense{Units: 500, Activation: "tanh"}, &nn.Dense{Units: 10}}
}

// residualBlock is a block of two convolutions of ResNet v1.
type residualBlock struct{ Body, Shortcut nn.Sequential }

// Forward adds the shortcut.
func (r *residualBlock) Forward(x *nd.Array) *nd.Array {
	y := r.Body.Forward(x)
	if r.Shortcut != nil {
		x = r.Shortcut.Forward(x)
	}
	return x.Add(y).Relu()
}

// resnet18Block is ResNet-18 v1 with ten classes, as resnet makes it.
func resnet18Block() gluon.Block {
	conv := func(channels, kernel, stride, pad int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel),
			Strides: nn.Square(stride), Pad: nn.Square(pad), NoBias: true}
	}
	net := nn.Sequential{conv(64, 7, 2, 3), &nn.BatchNorm{}, nn.Activation("relu"),
		&nn.MaxPool2D{Size: nn.Square(3), Strides: nn.Square(2), Pad: nn.Square(1)}}
	for stage, channels := range []int{64, 128, 256, 512} {
		for i := range 2 {
			stride := 1
			var shortcut nn.Sequential
			if i == 0 && stage > 0 {
				stride = 2
				shortcut = nn.Sequential{conv(channels, 1, 2, 0), &nn.BatchNorm{}}
			}
			net = append(net, &residualBlock{nn.Sequential{conv(channels, 3, stride, 1),
				&nn.BatchNorm{}, nn.Activation("relu"), conv(channels, 3, 1, 1),
				&nn.BatchNorm{}}, shortcut})
		}
	}
	return append(net, &nn.GlobalAvgPool2D{}, nn.Flatten{}, &nn.Dense{Units: 10})
}

// wordsBlock is a language model: an embedding, two layers of LSTM and a dense layer over all words,
// for sequences of shape (steps, n).
func wordsBlock() gluon.Block {
	return nn.Sequential{&nn.Embedding{Rows: lstmWords, Units: 200},
		&rnn.Layer{Hidden: 200, Layers: lstmLayers},
		gluon.Func(func(x *nd.Array) *nd.Array { return x.Reshape(-1, 200) }),
		&nn.Dense{Units: lstmWords, InUnits: 200}}
}

// wordsNet is the network of wordsBlock as a symbol.
func wordsNet(shape nd.Shape) *sym.Symbol {
	e := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: lstmWords, OutputDim: 200})
	state := sym.Zeros(sym.InitParams{Shape: nd.Shape{lstmLayers, shape[1], 200}})
	r := sym.RNN(e, sym.RNNParams{StateSize: 200, NumLayers: lstmLayers, Mode: "lstm"},
		sym.With("state", state), sym.With("state_cell", state))
	y := sym.FullyConnected(sym.Reshape(r, sym.ReshapeParams{Shape: []int{-1, 200}}),
		sym.FullyConnectedParams{NumHidden: lstmWords})
	return sym.SoftmaxOutput(y, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}
