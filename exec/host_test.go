package exec_test

import (
	"context"
	"testing"
	"time"

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

// hostStep returns a training step of LeNet: forward, backward, and one update for every weight, of a
// single element. Every kernel takes so long; all is what they take together.
func hostStep(tb testing.TB, takes time.Duration) (step func(), all time.Duration) {
	ex, err := lenet().SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {64, 1, 28, 28}},
		GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
	if err != nil {
		tb.Fatal(err)
	}
	if all, err = ex.Pretend(true, takes); err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	var weights [][]*nd.Array
	for range ex.Grads {
		weights = append(weights, []*nd.Array{nd.Zeros(nd.Shape{1}), nd.Zeros(nd.Shape{1}), nd.Zeros(nd.Shape{1})})
	}
	params := update.SGDMomUpdateParams{LR: 0.01, Momentum: 0.9, RescaleGrad: nd.Some(1. / 64)}
	return func() {
		if err := ex.Forward(true); err != nil {
			tb.Fatal(err)
		}
		if err := ex.Backward(); err != nil {
			tb.Fatal(err)
		}
		for _, w := range weights {
			if _, err := nd.Invoke(update.SGDMomUpdate.Op, params, w, w[:1]); err != nil {
				tb.Fatal(err)
			}
		}
		if err := ex.Outputs()[0].Wait(ctx); err != nil {
			tb.Fatal(err)
		}
	}, all
}

// BenchmarkLeNetHost measures what a training step of LeNet costs beyond its kernels, which take
// nothing, or 100 microseconds each.
func BenchmarkLeNetHost(b *testing.B) {
	for _, takes := range []time.Duration{0, 100 * time.Microsecond} {
		b.Run(takes.String(), func(b *testing.B) {
			step, all := hostStep(b, takes)
			for range 20 {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.Elapsed()/time.Duration(b.N)-all)/1e3, "host-us/step")
			if err := nd.WaitAll(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
