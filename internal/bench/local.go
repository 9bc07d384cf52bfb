package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// local ports peers/local.py: training on one machine.
func local() ([]Workload, error) {
	return []Workload{
		train("mlp", mlp(), []int{784}, 500, 200),
		train("mlp", mlp(), []int{784}, 64, 400),
		train("lenet", lenet(), []int{1, 28, 28}, 64, 50),
		train("lenet", lenet(), []int{1, 28, 28}, 512, 15),
		languageModel(200, 32),
		languageModel(650, 20),
	}, nil
}

func mlp() *sym.Symbol {
	h := sym.Var("data")
	for _, units := range []int{128, 64} {
		h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: units})
		h = sym.Activation(h, sym.ActivationParams{ActType: "relu"})
	}
	h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10})
	return sym.SoftmaxOutput(h, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

func lenet() *sym.Symbol {
	h := sym.Var("data")
	for _, filters := range []int{20, 50} {
		h = sym.Convolution(h, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: filters})
		h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
		h = sym.Pooling(h, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}})
	}
	h = sym.FullyConnected(sym.Flatten(h), sym.FullyConnectedParams{NumHidden: 500})
	h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
	h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10})
	return sym.SoftmaxOutput(h, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// train measures images per second of forward, backward, update and metric over iters batches of
// random data, as the peers' script does: the best of three runs after ten batches to warm up.
func train(name string, net *sym.Symbol, shape []int, batch, iters int) Workload {
	run := func(ctx context.Context) (float64, error) {
		t, err := newTrainer(net, shape, batch)
		if err != nil {
			return 0, err
		}
		if err := t.run(ctx, 10); err != nil {
			return 0, err
		}
		least := 0.0
		for range 3 {
			start := time.Now()
			if err := t.run(ctx, iters); err != nil {
				return 0, err
			}
			if s := time.Since(start).Seconds(); least == 0 || s < least {
				least = s
			}
		}
		return float64(iters*batch) / least, nil
	}
	return Workload{Name: fmt.Sprintf("local.%s.bs%d", name, batch), Unit: "images/s", Run: run}
}

// trainer is a bound module with its data.
type trainer struct {
	mod  *module.Module
	data dataio.Iter
	acc  metric.Metric
}

func newTrainer(net *sym.Symbol, shape []int, batch int) (*trainer, error) {
	const batches = 20
	rng := rand.New(rand.NewPCG(1, 2))
	n := batch * batches
	full := append([]int{n}, shape...)
	pixels := make([]float32, nd.Shape(full).Size())
	for i := range pixels {
		pixels[i] = rng.Float32()
	}
	labels := make([]float32, n)
	for i := range labels {
		labels[i] = float32(rng.IntN(10))
	}
	data, err := dataio.NDArrayIter(dataio.NDArrayConfig{BatchSize: batch,
		Data: []*nd.Array{nd.FromSlice(pixels, full...)}, Label: []*nd.Array{nd.FromSlice(labels)}})
	if err != nil {
		return nil, err
	}
	mod := module.New(net)
	if err := mod.Bind(data.ProvideData(), data.ProvideLabel()); err != nil {
		return nil, err
	}
	if err := mod.InitParams(initializer.Xavier{}); err != nil {
		return nil, err
	}
	if err := mod.InitOptimizer(optimizer.SGD{LR: 0.01, Momentum: 0.9}); err != nil {
		return nil, err
	}
	return &trainer{mod, data, metric.Accuracy()}, nil
}

// run trains on n batches and waits for the last one.
func (t *trainer) run(ctx context.Context, n int) error {
	if err := t.data.Reset(); err != nil {
		return err
	}
	for done := 0; done < n; {
		b, err := t.data.Next(ctx)
		if errors.Is(err, io.EOF) {
			if err := t.data.Reset(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := t.step(b); err != nil {
			return err
		}
		done++
	}
	return nd.WaitAll(ctx)
}

func (t *trainer) step(b *dataio.Batch) error {
	if err := t.mod.ForwardBackward(b); err != nil {
		return err
	}
	if err := t.mod.Update(); err != nil {
		return err
	}
	return t.acc.Update(b.Label, t.mod.Outputs())
}
