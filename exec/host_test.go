package exec_test

import (
	"context"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
	sym "gomx/symbol"
)

// hostStep returns a training step of LeNet: forward, backward, and one update for every weight, of
// a single element. Every kernel takes so long; all is what they take together.
func hostStep(tb testing.TB, takes time.Duration) (step func(), all time.Duration) {
	ex, err := nettest.LeNet().SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {64,
		1, 28, 28}},
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
		weights = append(weights, []*nd.Array{nd.Zeros(nd.Shape{1}), nd.Zeros(nd.Shape{1}),
			nd.Zeros(nd.Shape{1})})
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

func bigMLP() *sym.Symbol {
	h := sym.Var("data")
	for _, u := range []int{128, 64} {
		h = sym.Activation(sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: u}),
			sym.ActivationParams{ActType: "relu"})
	}
	return sym.SoftmaxOutput(sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10}),
		sym.SoftmaxOutputParams{}, sym.Name("softmax"))
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
	params := update.SGDMomUpdateParams{LR: 0.01, Momentum: 0.9,
		RescaleGrad: sym.Some(1 / float64(shape[0]))}
	train := func() {
		nettest.Step(b, ex)
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

func BenchmarkLeNetStep(b *testing.B) { benchmarkStep(b, nettest.LeNet(), 64, 1, 28, 28) }
func BenchmarkMLPStep(b *testing.B)   { benchmarkStep(b, bigMLP(), 500, 784) }
