package symbol_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// convNet grows a random graph of convolutions and what follows them: batch norm, sums,
// activations, pooling, concatenation.
type convNet struct {
	rng    *rand.Rand
	values []*sym.Symbol // all of shape (2, channels, 6, 6)
	chans  []int
	nodes  int
}

func (g *convNet) add(s *sym.Symbol, channels int) *sym.Symbol {
	g.values, g.chans = append(g.values, s), append(g.chans, channels)
	return s
}

func (g *convNet) name(kind string) sym.Option {
	g.nodes++
	return sym.Name(fmt.Sprintf("%s%d", kind, g.nodes))
}

// pick prefers what was made last.
func (g *convNet) pick() int {
	if g.rng.IntN(2) == 0 {
		return len(g.values) - 1
	}
	return g.rng.IntN(len(g.values))
}

func (g *convNet) relu(s *sym.Symbol) *sym.Symbol {
	switch g.rng.IntN(3) {
	case 0:
		return sym.Relu(s, g.name("relu"))
	case 1:
		return sym.Activation(s, sym.ActivationParams{ActType: "relu"}, g.name("act"))
	}
	return sym.Activation(s, sym.ActivationParams{ActType: "tanh"}, g.name("act"))
}

func (g *convNet) norm(s *sym.Symbol) *sym.Symbol {
	return sym.BatchNorm(s, sym.BatchNormParams{NoFixGamma: g.rng.IntN(2) == 0, Eps: sym.Some(1e-3)}, g.name("bn"))
}

// conv makes a convolution that keeps the extents, of one of several kinds.
func (g *convNet) conv(from int) (*sym.Symbol, int) {
	x, c := g.values[from], g.chans[from]
	out := []int{3, 8, 16, 32, 24}[g.rng.IntN(5)]
	p := sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumFilter: out, NoBias: g.rng.IntN(2) == 0}
	switch g.rng.IntN(4) {
	case 0:
		p.Kernel, p.Pad = []int{1, 1}, nil
	case 1:
		p.NumFilter, p.NumGroup = c, c
	}
	return sym.Convolution(x, p, g.name("conv")), p.NumFilter
}

// same returns a value of a number of channels other than s, nil without.
func (g *convNet) same(channels int) *sym.Symbol {
	for _, i := range g.rng.Perm(len(g.values)) {
		if g.chans[i] == channels {
			return g.values[i]
		}
	}
	return nil
}

func (g *convNet) grow() {
	at := g.pick()
	x, c := g.values[at], g.chans[at]
	switch g.rng.IntN(8) {
	case 0, 1, 2, 3:
		y, n := g.conv(at)
		if g.rng.IntN(4) > 0 {
			y = g.norm(y)
		}
		if other := g.same(n); other != nil && g.rng.IntN(2) == 0 {
			if g.rng.IntN(2) == 0 {
				y = sym.ElemwiseAdd(y, other, g.name("add"))
			} else {
				y = sym.BroadcastAdd(other, y, g.name("add"))
			}
		}
		if g.rng.IntN(3) > 0 {
			y = g.relu(y)
		}
		g.add(y, n)
	case 4:
		g.add(g.relu(g.norm(x)), c)
	case 5:
		p := sym.PoolingParams{Kernel: []int{3, 3}, Pad: []int{1, 1}, PoolType: []string{"max", "avg"}[g.rng.IntN(2)]}
		g.add(sym.Pooling(x, p, g.name("pool")), c)
	case 6:
		other := g.rng.IntN(len(g.values))
		both := []*sym.Symbol{x, g.values[other]}
		g.add(sym.Concat(both, sym.ConcatParams{Dim: sym.Some(1)}, g.name("concat")), c+g.chans[other])
	case 7:
		g.add(sym.ElemwiseMul(x, g.relu(x), g.name("mul")), c)
	}
}

// output ends the network: a dense layer over one value, and one value as it is.
func (g *convNet) output() *sym.Symbol {
	x := g.values[len(g.values)-1]
	if g.rng.IntN(2) == 0 {
		x = sym.Pooling(x, sym.PoolingParams{GlobalPool: true, PoolType: "avg", Kernel: []int{1, 1}}, g.name("global"))
	}
	fc := sym.FullyConnected(sym.Flatten(x, g.name("flat")), sym.FullyConnectedParams{NumHidden: 5}, g.name("fc"))
	return sym.Group(g.relu(fc), g.values[g.rng.IntN(len(g.values))])
}

// TestFusionAgrees runs random convolutional graphs in inference with and without fusion, on every
// tier, and changes parameters in between.
func TestFusionAgrees(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			g := &convNet{rng: rng}
			g.add(sym.Var("data"), []int{3, 16}[rng.IntN(2)])
			for range 2 + rng.IntN(12) {
				g.grow()
			}
			checkFusion(t, rng, g.output(), g.chans[0])
		})
	}
}

func checkFusion(t *testing.T, rng *rand.Rand, s *sym.Symbol, channels int) {
	tier := []device.Tier{device.TierRef, device.TierGo, device.TierC, device.TierC, device.TierC}[rng.IntN(5)]
	defer device.LimitTier(device.LimitTier(tier))
	c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {2, channels, 6, 6}}, DefaultReq: op.ReqNull}
	fused, err := s.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	c.NoFusion, c.Args, c.Aux = true, fused.Args, fused.Aux
	plain, err := s.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		for _, name := range s.Arguments() {
			if round == 0 || rng.IntN(3) == 0 {
				fillGently(t, rng, fused.Args[name])
			}
		}
		for _, name := range s.AuxStates() {
			if round == 0 || rng.IntN(3) == 0 {
				fillBetween(t, rng, fused.Aux[name], 0.5, 1)
			}
		}
		for _, ex := range []*sym.Executor{fused, plain} {
			if err := ex.Forward(false); err != nil {
				t.Fatal(err)
			}
		}
		for i := range fused.Outputs() {
			near(t, fmt.Sprintf("round %d: output %d", round, i), values(t, fused.Outputs()[i]), values(t, plain.Outputs()[i]))
		}
	}
}

// fillGently draws weights so that values neither grow nor shrink from layer to layer: differences
// of rounding then stay small.
func fillGently(t *testing.T, rng *rand.Rand, a *nd.Array) {
	t.Helper()
	bound := float32(1)
	if shape := a.Shape(); len(shape) > 1 && shape[0] != 2 {
		bound = float32(math.Sqrt(3 / float64(shape[1:].Size())))
	}
	fillBetween(t, rng, a, -bound, bound)
}

func fillBetween(t *testing.T, rng *rand.Rand, a *nd.Array, low, high float32) {
	t.Helper()
	v := make([]float32, a.Size())
	for i := range v {
		v[i] = low + rng.Float32()*(high-low)
	}
	if err := nd.CopyFrom(a, v); err != nil {
		t.Fatal(err)
	}
}

// near demands that no element differs by more than 1e-4 of the largest.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	largest := 1e-3
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4*largest) {
			t.Fatalf("%s: got %v at %d, want %v (largest %v)", what, got[i], i, want[i], largest)
		}
	}
}
