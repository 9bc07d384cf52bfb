package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gomx/engine"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// lenet is LeNet-5 with tanh, as in MXNet's examples.
func lenet() *sym.Symbol {
	x := sym.Var("data")
	for i, filters := range []int{20, 50} {
		name := func(layer string) sym.Option { return sym.Name(fmt.Sprint(layer, i+1)) }
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: filters},
			name("conv"))
		x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, name("tanh"))
		x = sym.Pooling(x, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}}, name("pool"))
	}
	x = sym.FullyConnected(sym.Flatten(x, sym.Name("flatten")),
		sym.FullyConnectedParams{NumHidden: 500}, sym.Name("fc1"))
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh3"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// recording is the profile of one training step, with the names to draw it.
type recording struct {
	profile *engine.Profile
	took    time.Duration
	workers int
	layers  map[string]bool       // names of the network's nodes
	batch   map[*engine.Var]int   // bytes of each variable that holds data or labels of the batch
	params  map[*engine.Var]param // parameter of each variable that holds one
}

type param struct {
	name  string
	bytes int
}

// trainer trains LeNet on random images.
type trainer struct {
	mod  *module.Module
	data dataio.Iter
	acc  metric.Metric
}

func newTrainer(batch int) (*trainer, error) {
	const batches = 4
	data, err := dataio.NDArrayIter(dataio.NDArrayConfig{BatchSize: batch,
		Data:  []*nd.Array{nd.Uniform(0, 1, nd.Shape{batch * batches, 1, 28, 28}, nd.Seed(1))},
		Label: []*nd.Array{nd.Zeros(nd.Shape{batch * batches})}})
	if err != nil {
		return nil, err
	}
	t := &trainer{module.New(lenet(), module.Seed(1)), data, metric.Accuracy()}
	return t, errors.Join(t.mod.Bind(data.ProvideData(), data.ProvideLabel()),
		t.mod.InitParams(initializer.Xavier{}),
		t.mod.InitOptimizer(optimizer.SGD{LR: 0.01, Momentum: 0.9}))
}

// step trains on one batch. scope marks the work of the calling goroutine in the profile.
func (t *trainer) step(ctx context.Context, scope func(name string) (end func())) (*dataio.Batch,
	error) {
	end := scope("next batch")
	b, err := t.data.Next(ctx)
	if errors.Is(err, io.EOF) {
		if err = t.data.Reset(); err == nil {
			b, err = t.data.Next(ctx)
		}
	}
	end()
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		do   func() error
	}{
		{"push forward", func() error { return t.mod.Forward(b, true) }},
		{"push backward", func() error { return t.mod.Backward() }},
		{"push update", t.mod.Update},
		{"wait for the outputs and update the metric",
			func() error { return t.mod.UpdateMetric(t.acc, b.Label) }},
	} {
		end := scope(part.name)
		err := part.do()
		end()
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// recordLenet trains for a number of steps to warm up and returns the fastest of as many further
// steps.
func recordLenet(ctx context.Context, batch int) (*recording, error) {
	const steps = 50
	t, err := newTrainer(batch)
	if err != nil {
		return nil, err
	}
	for range steps {
		if _, err := t.step(ctx, func(string) func() { return func() {} }); err != nil {
			return nil, err
		}
	}
	var best *recording
	for range steps {
		r, err := t.record(ctx)
		if err != nil {
			return nil, err
		}
		if best == nil || r.took < best.took {
			best = r
		}
	}
	return best, nil
}

// record profiles one step, alone on the engine.
func (t *trainer) record(ctx context.Context) (*recording, error) {
	e := engine.Default()
	if err := e.WaitAll(ctx); err != nil {
		return nil, err
	}
	r := &recording{workers: e.Workers(), layers: map[string]bool{}, batch: map[*engine.Var]int{},
		params: map[*engine.Var]param{}}
	start := time.Now()
	r.profile = e.StartProfile()
	defer r.profile.Stop()
	b, err := t.step(ctx, r.profile.Scope)
	if err != nil {
		return nil, err
	}
	if err := e.WaitAll(ctx); err != nil {
		return nil, err
	}
	r.took = time.Since(start)
	for _, a := range append(b.Data[:len(b.Data):len(b.Data)], b.Label...) {
		r.batch[a.Var()] += a.Bytes()
	}
	args, _ := t.mod.Params()
	for name, a := range args {
		r.params[a.Var()] = param{name, a.Bytes()}
	}
	for _, n := range t.mod.Symbol().Nodes() {
		r.layers[n.Name] = true
	}
	return r, nil
}
