package graph_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// trained runs three steps and returns all gradients, outputs and auxiliary states.
func trained(t *testing.T, s *sym.Symbol, share float64,
	shapes map[string]dtype.Shape) (map[string][]float32, sym.MemoryUse) {
	t.Helper()
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: shapes, Recompute: share, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(11, 12))
	for _, name := range s.Arguments() {
		nettest.FillRandom(t, rng, ex.Args[name])
	}
	for _, name := range s.AuxStates() {
		ex.Aux[name].Set(nd.Ones(ex.Aux[name].Shape()))
	}
	for range 3 {
		nettest.Step(t, ex)
	}
	all := map[string][]float32{}
	for i, o := range ex.Outputs() {
		all[fmt.Sprintf("output %d", i)] = nettest.Values(t, o)
	}
	for name, g := range ex.Grads {
		all["gradient of "+name] = nettest.Values(t, g)
	}
	for name, a := range ex.Aux {
		all[name] = nettest.Values(t, a)
	}
	use, err := ex.MemoryUse(true)
	if err != nil {
		t.Fatal(err)
	}
	return all, use
}

func sameResults(t *testing.T, got, want map[string][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s differs: %v, want %v", name, got[name][:min(4, len(got[name]))],
				want[name][:min(4, len(want[name]))])
		}
	}
}

func TestRecomputeChangesNothingButMemory(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {4, 8, 12, 12}}
	want, before := trained(t, nettest.DropoutNet(24), 0, shapes)
	for _, share := range []float64{0.7, 0.4, 0.01} {
		got, after := trained(t, nettest.DropoutNet(24), share, shapes)
		sameResults(t, got, want)
		if after.Recomputed == 0 || float64(after.Arena) > 0.75*float64(before.Arena) {
			t.Errorf("share %v: %d bytes with %d nodes computed again, %d without", share,
				after.Arena, after.Recomputed, before.Arena)
		}
	}
}

func TestForceMirroring(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {2, 8, 6, 6}}
	want, before := trained(t, nettest.DropoutNet(8), 0, shapes)
	got, after := trained(t, nettest.DropoutNet(8, sym.Attr("__force_mirroring__", "True")), 0,
		shapes)
	sameResults(t, got, want)
	if before.Recomputed != 0 || after.Recomputed == 0 {
		t.Errorf("%d nodes computed again without the attribute, %d with it: want none and some",
			before.Recomputed, after.Recomputed)
	}
	_, kept := trained(t, nettest.DropoutNet(8, sym.Attr("__force_mirroring__", "False")), 0.01,
		shapes)
	if _, free := trained(t, nettest.DropoutNet(8), 0.01,
		shapes); kept.Recomputed >= free.Recomputed {
		t.Errorf("%d nodes computed again although forbidden, %d otherwise", kept.Recomputed,
			free.Recomputed)
	}
}

// TestForceMirroringOfAMember demands that an operator inside a chain of pointwise ones is computed
// again where it asks for that, and that no other is.
func TestForceMirroringOfAMember(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {4, 8}}
	net := func(opts ...sym.Option) *sym.Symbol {
		x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
			sym.Name("fc"))
		y := sym.Exp(sym.Tanh(x, sym.Name("tanh")), append(opts, sym.Name("exp"))...)
		return sym.Sum(sym.Sin(sym.Square(y, sym.Name("square")), sym.Name("sin")),
			sym.ReduceParams{}, sym.Name("sum"))
	}
	want, before := trained(t, net(), 0, shapes)
	got, after := trained(t, net(sym.ForceMirroring()), 0, shapes)
	sameResults(t, got, want)
	if before.Recomputed != 0 || after.Recomputed != 1 {
		t.Errorf("%d nodes computed again without the attribute, %d with it: want 0 and 1",
			before.Recomputed, after.Recomputed)
	}
}

// TestRecomputeRandomNets compares random graphs bit for bit.
func TestRecomputeRandomNets(t *testing.T) {
	for seed := range uint64(20) {
		s := nettest.RandomNet(rand.New(rand.NewPCG(seed, 2)), 20)
		shapes := map[string]dtype.Shape{}
		for _, name := range s.Arguments() {
			if name == "data" || name == "w0" || name == "w1" {
				shapes[name] = dtype.Shape{4, 6}
			}
		}
		want, _ := trained(t, s, 0, shapes)
		got, _ := trained(t, s, 0.2, shapes)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { sameResults(t, got, want) })
	}
}

// unrolledLSTM is one layer of LSTM cells over so many steps, and a classification of the last
// state.
func unrolledLSTM(steps, hidden int) *sym.Symbol {
	dense := sym.FullyConnectedParams{NumHidden: 4 * hidden}
	input := []sym.Option{sym.With("weight", sym.Var("i2h_weight")),
		sym.With("bias", sym.Var("i2h_bias"))}
	state := []sym.Option{sym.With("weight", sym.Var("h2h_weight")),
		sym.With("bias", sym.Var("h2h_bias"))}
	x := sym.SliceChannel(sym.Var("data"), sym.SliceChannelParams{NumOutputs: steps,
		Axis: sym.Some(1), SqueezeAxis: true})
	h, c := sym.Var("h0"), sym.Var("c0")
	for t := range steps {
		g := sym.ElemwiseAdd(sym.FullyConnected(x.At(t), dense, input...),
			sym.FullyConnected(h, dense, state...))
		parts := sym.SliceChannel(g, sym.SliceChannelParams{NumOutputs: 4, Axis: sym.Some(1)})
		tanh := func(s *sym.Symbol) *sym.Symbol {
			return sym.Activation(s, sym.ActivationParams{ActType: "tanh"})
		}
		c = sym.ElemwiseAdd(sym.ElemwiseMul(sym.Sigmoid(parts.At(1)), c),
			sym.ElemwiseMul(sym.Sigmoid(parts.At(0)), tanh(parts.At(2))))
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
		{"resnet50", nettest.ResNet(3, 4, 6, 3), map[string]dtype.Shape{"data": {batch, 3, 112,
			112}}},
		{"lstm50", unrolledLSTM(50, 256), map[string]dtype.Shape{"data": {4 * batch, 50, 256},
			"h0": {4 * batch, 256}, "c0": {4 * batch, 256}}},
	}
}

// BenchmarkRecompute measures a training step with all values kept and with half of the memory.
func BenchmarkRecompute(b *testing.B) {
	for _, c := range deepNets(4) {
		for _, share := range []float64{0, 0.5} {
			b.Run(fmt.Sprintf("%s/%v", c.name, share), func(b *testing.B) {
				ex, err := c.net.SimpleBind(sym.BindConfig{Shapes: c.shapes, Recompute: share,
					GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
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
					nettest.Step(b, ex)
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
			ex, err := c.net.SimpleBind(sym.BindConfig{Shapes: c.shapes, Recompute: share,
				GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
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
		if t.Logf("%s: %d bytes, %d with recomputing", c.name, arena[0],
			arena[1]); 2*arena[1] > arena[0] {
			t.Errorf("%s: %d bytes planned with recomputing, %d without: want at most half", c.name,
				arena[1], arena[0])
		}
	}
}
