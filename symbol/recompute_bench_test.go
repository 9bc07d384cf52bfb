package symbol_test

import (
	"context"
	"fmt"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// unrolledLSTM is one layer of LSTM cells over so many steps, and a classification of the last state.
func unrolledLSTM(steps, hidden int) *sym.Symbol {
	dense := sym.FullyConnectedParams{NumHidden: 4 * hidden}
	input := []sym.Option{sym.With("weight", sym.Var("i2h_weight")), sym.With("bias", sym.Var("i2h_bias"))}
	state := []sym.Option{sym.With("weight", sym.Var("h2h_weight")), sym.With("bias", sym.Var("h2h_bias"))}
	x := sym.SliceChannel(sym.Var("data"), sym.SliceChannelParams{NumOutputs: steps, Axis: sym.Some(1), SqueezeAxis: true})
	h, c := sym.Var("h0"), sym.Var("c0")
	for t := range steps {
		g := sym.ElemwiseAdd(sym.FullyConnected(x.At(t), dense, input...), sym.FullyConnected(h, dense, state...))
		parts := sym.SliceChannel(g, sym.SliceChannelParams{NumOutputs: 4, Axis: sym.Some(1)})
		tanh := func(s *sym.Symbol) *sym.Symbol { return sym.Activation(s, sym.ActivationParams{ActType: "tanh"}) }
		c = sym.ElemwiseAdd(sym.ElemwiseMul(sym.Sigmoid(parts.At(1)), c), sym.ElemwiseMul(sym.Sigmoid(parts.At(0)), tanh(parts.At(2))))
		h = sym.ElemwiseMul(sym.Sigmoid(parts.At(3)), tanh(c))
	}
	fc := sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	return sym.SoftmaxOutput(fc, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// deepNets are networks whose training is worth recomputing.
func deepNets(batch int) []struct {
	name   string
	net    *sym.Symbol
	shapes map[string]dtype.Shape
} {
	return []struct {
		name   string
		net    *sym.Symbol
		shapes map[string]dtype.Shape
	}{
		{"resnet50", resnet(3, 4, 6, 3), map[string]dtype.Shape{"data": {batch, 3, 112, 112}}},
		{"lstm50", unrolledLSTM(50, 256), map[string]dtype.Shape{"data": {4 * batch, 50, 256}, "h0": {4 * batch, 256}, "c0": {4 * batch, 256}}},
	}
}

// BenchmarkRecompute measures a training step with all values kept and with half of the memory.
func BenchmarkRecompute(b *testing.B) {
	for _, c := range deepNets(4) {
		for _, share := range []float64{0, 0.5} {
			b.Run(fmt.Sprintf("%s/%v", c.name, share), func(b *testing.B) {
				ex, err := c.net.SimpleBind(sym.BindConfig{Shapes: c.shapes, Recompute: share, GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
				if err != nil {
					b.Fatal(err)
				}
				defer ex.Close()
				for name := range ex.Grads {
					ex.Args[name].Set(nd.Uniform(-0.05, 0.05, ex.Args[name].Shape()))
				}
				use, err := ex.MemoryUse(true)
				if err != nil {
					b.Fatal(err)
				}
				run := func() {
					step(b, ex)
					if err := nd.WaitAll(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				run()
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(use.Arena)/(1<<20), "MiB")
				b.ReportMetric(float64(use.Recomputed), "again")
			})
		}
	}
}

// TestRecomputeHalvesTheMemory plans the networks of the benchmark.
func TestRecomputeHalvesTheMemory(t *testing.T) {
	for _, c := range deepNets(16) {
		var arena [2]int64
		for i, share := range []float64{0, 0.5} {
			ex, err := c.net.SimpleBind(sym.BindConfig{Shapes: c.shapes, Recompute: share, GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
			if err != nil {
				t.Fatal(err)
			}
			use, err := ex.MemoryUse(true)
			if err != nil {
				t.Fatal(err)
			}
			arena[i] = use.Values
			ex.Close()
		}
		if t.Logf("%s: %d bytes, %d with recomputing", c.name, arena[0], arena[1]); 2*arena[1] > arena[0] {
			t.Errorf("%s: %d bytes planned with recomputing, %d without: want at most half", c.name, arena[1], arena[0])
		}
	}
}
