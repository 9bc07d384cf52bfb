package symbol_test

import (
	"context"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
	sym "gomx/symbol"
)

func lenet() *sym.Symbol {
	h := sym.Var("data")
	for _, k := range []int{20, 50} {
		h = sym.Convolution(h, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: k})
		h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
		h = sym.Pooling(h, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2}, Stride: []int{2, 2}})
	}
	h = sym.FullyConnected(sym.Flatten(h), sym.FullyConnectedParams{NumHidden: 500})
	h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
	h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10})
	return sym.SoftmaxOutput(h, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

func bigMLP() *sym.Symbol {
	h := sym.Var("data")
	for _, u := range []int{128, 64} {
		h = sym.Activation(sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: u}), sym.ActivationParams{ActType: "relu"})
	}
	return sym.SoftmaxOutput(sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10}), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// benchmarkStep measures forward, backward and update of every weight.
func benchmarkStep(b *testing.B, s *sym.Symbol, shape ...int) {
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": shape},
		GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	for name := range ex.Grads {
		ex.Args[name].Set(nd.Uniform(-0.05, 0.05, ex.Args[name].Shape()))
	}
	ex.Args["data"].Set(nd.Uniform(0, 1, shape))
	var weights [][]*nd.Array
	for _, name := range s.Arguments() {
		if g := ex.Grads[name]; g != nil {
			weights = append(weights, []*nd.Array{ex.Args[name], g, nd.Zeros(g.Shape())})
		}
	}
	params := update.SGDMomUpdateParams{LR: 0.01, Momentum: 0.9, RescaleGrad: sym.Some(1 / float64(shape[0]))}
	train := func() {
		step(b, ex)
		for _, w := range weights {
			if _, err := nd.Invoke(update.SGDMomUpdate.Op, params, w, w[:1]); err != nil {
				b.Fatal(err)
			}
		}
		if err := ex.Outputs()[0].Wait(ctx); err != nil {
			b.Fatal(err)
		}
	}
	for range 5 {
		train()
	}
	b.ReportAllocs()
	for b.Loop() {
		train()
	}
	if err := nd.WaitAll(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(shape[0])*float64(b.N)/b.Elapsed().Seconds(), "images/s")
}

func BenchmarkLeNetStep(b *testing.B) { benchmarkStep(b, lenet(), 64, 1, 28, 28) }
func BenchmarkMLPStep(b *testing.B)   { benchmarkStep(b, bigMLP(), 500, 784) }
