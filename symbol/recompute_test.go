package symbol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// dropoutNet is a deep network with everything that recomputing could spoil: batch norms with moving averages,
// dropout, sums over long distances.
func dropoutNet(depth int, opts ...sym.Option) *sym.Symbol {
	x := sym.Var("data")
	for i := range depth {
		c := sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: 8}, sym.Name(fmt.Sprintf("conv%d", i)))
		b := sym.BatchNorm(c, sym.BatchNormParams{NoFixGamma: true, UseGlobalStats: i%4 == 3}, append(opts, sym.Name(fmt.Sprintf("bn%d", i)))...)
		y := sym.Activation(b, sym.ActivationParams{ActType: []string{"relu", "tanh"}[i%2]}, opts...)
		if i%3 == 1 {
			y = sym.Dropout(y, sym.DropoutParams{P: sym.Some(0.3)}, opts...)
		}
		if i%2 == 1 {
			y = sym.ElemwiseAdd(x, y)
		}
		x = y
	}
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// trained runs three steps and returns all gradients, outputs and auxiliary states.
func trained(t *testing.T, s *sym.Symbol, share float64, shapes map[string]dtype.Shape) (map[string][]float32, sym.MemoryUse) {
	t.Helper()
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: shapes, Recompute: share, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(11, 12))
	for _, name := range s.Arguments() {
		fillRandom(t, rng, ex.Args[name])
	}
	for _, name := range s.AuxStates() {
		ex.Aux[name].Set(nd.Ones(ex.Aux[name].Shape()))
	}
	for range 3 {
		step(t, ex)
	}
	all := map[string][]float32{}
	for i, o := range ex.Outputs() {
		all[fmt.Sprintf("output %d", i)] = values(t, o)
	}
	for name, g := range ex.Grads {
		all["gradient of "+name] = values(t, g)
	}
	for name, a := range ex.Aux {
		all[name] = values(t, a)
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
			t.Errorf("%s differs: %v, want %v", name, got[name][:min(4, len(got[name]))], want[name][:min(4, len(want[name]))])
		}
	}
}

func TestRecomputeChangesNothingButMemory(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {4, 8, 12, 12}}
	want, before := trained(t, dropoutNet(24), 0, shapes)
	for _, share := range []float64{0.7, 0.4, 0.01} {
		got, after := trained(t, dropoutNet(24), share, shapes)
		sameResults(t, got, want)
		if after.Recomputed == 0 || float64(after.Arena) > 0.75*float64(before.Arena) {
			t.Errorf("share %v: %d bytes with %d nodes computed again, %d without", share, after.Arena, after.Recomputed, before.Arena)
		}
	}
}

func TestForceMirroring(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {2, 8, 6, 6}}
	want, before := trained(t, dropoutNet(8), 0, shapes)
	got, after := trained(t, dropoutNet(8, sym.Attr("__force_mirroring__", "True")), 0, shapes)
	sameResults(t, got, want)
	if before.Recomputed != 0 || after.Recomputed == 0 {
		t.Errorf("%d nodes computed again without the attribute, %d with it: want none and some", before.Recomputed, after.Recomputed)
	}
	_, kept := trained(t, dropoutNet(8, sym.Attr("__force_mirroring__", "False")), 0.01, shapes)
	if _, free := trained(t, dropoutNet(8), 0.01, shapes); kept.Recomputed >= free.Recomputed {
		t.Errorf("%d nodes computed again although forbidden, %d otherwise", kept.Recomputed, free.Recomputed)
	}
}

// TestRecomputeRandomNets compares random graphs bit for bit.
func TestRecomputeRandomNets(t *testing.T) {
	for seed := range uint64(20) {
		s := randomNet(rand.New(rand.NewPCG(seed, 2)), 20)
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
