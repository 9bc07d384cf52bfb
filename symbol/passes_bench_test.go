package symbol_test

import (
	"context"
	"testing"
	"time"

	"gomx/compile"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// written are layers written out in basic operators, as models do that need something a layer does not offer.
var written = []struct {
	name  string
	shape dtype.Shape // of data
	net   func(x *sym.Symbol) *sym.Symbol
}{
	{"gelu", dtype.Shape{512, 4096}, writtenGELU},
	{"layernorm", dtype.Shape{2048, 768}, writtenLayerNorm},
	{"lstm", dtype.Shape{32, 256}, writtenLSTM},
	{"attention", dtype.Shape{8, 128, 64}, writtenAttention},
}

func number(v float64) sym.ScalarParams { return sym.ScalarParams{Scalar: v} }

func writtenGELU(x *sym.Symbol) *sym.Symbol {
	inner := sym.PlusScalar(sym.Erf(sym.MulScalar(x, number(0.70710678))), number(1))
	return sym.MulScalar(sym.ElemwiseMul(x, inner), number(0.5))
}

func writtenLayerNorm(x *sym.Symbol) *sym.Symbol {
	last := sym.ReduceParams{Axis: []int{-1}, KeepDims: true}
	centered := sym.BroadcastSub(x, sym.Mean(x, last))
	variance := sym.Mean(sym.Square(centered), last)
	y := sym.BroadcastMul(centered, sym.Rsqrt(sym.PlusScalar(variance, number(1e-5))))
	gamma, beta := sym.Var("gamma", sym.Shape(768)), sym.Var("beta", sym.Shape(768))
	return sym.BroadcastAdd(sym.BroadcastMul(y, gamma), beta)
}

// writtenLSTM is ten steps of an LSTM cell that begin with the same input.
func writtenLSTM(x *sym.Symbol) *sym.Symbol {
	h, c := x, x
	weight, bias := sym.Var("weight"), sym.Var("bias")
	for range 10 {
		z := sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 1024}, sym.With("weight", weight), sym.With("bias", bias))
		g := sym.SliceChannel(z, sym.SliceChannelParams{NumOutputs: 4})
		keep := sym.ElemwiseMul(sym.Sigmoid(g.At(0)), c)
		c = sym.ElemwiseAdd(keep, sym.ElemwiseMul(sym.Sigmoid(g.At(1)), sym.Tanh(g.At(2))))
		h = sym.ElemwiseMul(sym.Sigmoid(g.At(3)), sym.Tanh(c))
	}
	return h
}

// writtenAttention multiplies by a transposed matrix, scales twice, and shifts by a mask that is made of constants.
func writtenAttention(x *sym.Symbol) *sym.Symbol {
	t := sym.Transpose(x, sym.TransposeParams{Axes: []int{0, 2, 1}})
	score := sym.MulScalar(sym.DivScalar(sym.BatchDot(x, t, sym.DotParams{}), number(8)), number(1.44))
	mask := sym.MulScalar(sym.RMinusScalar(sym.Eye(sym.EyeParams{N: 128}), number(1)), number(-4))
	return sym.BatchDot(sym.Softmax(sym.BroadcastAdd(score, sym.ExpandDims(mask, sym.ExpandDimsParams{})), sym.SoftmaxParams{}), x, sym.DotParams{})
}

// passesOf lists the passes for composed and for whole graphs that change a network when it is trained.
func passesOf(b *testing.B, net *sym.Symbol, c sym.BindConfig) (names []string) {
	e, err := sym.Explain(net, c, true)
	if err != nil {
		b.Fatal(err)
	}
	changed := map[string]bool{}
	for _, p := range e.Passes {
		changed[p.Pass] = len(p.Changes) > 0
	}
	for _, p := range compile.Passes() {
		if changed[p.Name] && !p.Needed && p.Mode == compile.Always {
			names = append(names, p.Name)
		}
	}
	return names
}

// BenchmarkPasses measures steps of training with all passes for whole graphs, without each of those that change the
// network, and without any. Binding is measured beside: the least of five.
func BenchmarkPasses(b *testing.B) {
	for _, w := range written {
		net := w.net(sym.Var("data"))
		c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": w.shape}, GradReq: map[string]op.Req{}}
		all := passesOf(b, net, c)
		b.Run(w.name+"/all", func(b *testing.B) { benchmarkPasses(b, net, c) })
		for _, p := range all {
			c.Without = []string{p}
			b.Run(w.name+"/without "+p, func(b *testing.B) { benchmarkPasses(b, net, c) })
		}
		c.Without = all
		b.Run(w.name+"/none", func(b *testing.B) { benchmarkPasses(b, net, c) })
	}
}

func benchmarkPasses(b *testing.B, net *sym.Symbol, c sym.BindConfig) {
	ex, binding := bindQuickly(b, net, c)
	defer ex.Close()
	for _, a := range ex.Args {
		a.Set(nd.Uniform(-0.1, 0.1, a.Shape(), nd.Seed(1)))
	}
	run := func() {
		step(b, ex)
		if err := nd.WaitAll(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	run()
	use, err := ex.MemoryUse(true)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(use.Arena)/1e6, "arena-MB")
	b.ReportMetric(float64(binding)/1e6, "bind-ms")
}

// bindQuickly binds and compiles a network five times, and returns the last executor and the least time.
func bindQuickly(b *testing.B, net *sym.Symbol, c sym.BindConfig) (ex *sym.Executor, least time.Duration) {
	for i := range 5 {
		start := time.Now()
		var err error
		if ex, err = net.SimpleBind(c); err != nil {
			b.Fatal(err)
		}
		if _, err := ex.MemoryUse(true); err != nil {
			b.Fatal(err)
		}
		if d := time.Since(start); i == 0 || d < least {
			least = d
		}
		if i < 4 {
			ex.Close()
		}
	}
	return ex, least
}
