package symbol_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// outcome is what runs of a graph left.
type outcome map[string][]float32

// trial is how a graph is run: everything that does not depend on passes.
type trial struct {
	s      *sym.Symbol
	config sym.BindConfig
	seed   uint64
}

// run binds the graph without some passes, or without any, and does two steps of training and one inference.
func (c *trial) run(t *testing.T, plain bool, without []string) outcome {
	t.Helper()
	b := c.config
	b.NoFusion, b.Without = plain, without
	ex, err := c.s.SimpleBind(b)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(c.seed, 7))
	for _, name := range c.s.Arguments() {
		fillGently(t, rng, ex.Args[name])
		if strings.HasSuffix(name, "_label") {
			label := make([]float32, ex.Args[name].Size())
			for i := range label {
				label[i] = float32(rng.IntN(12)) // a class
			}
			if err := nd.CopyFrom(ex.Args[name], label); err != nil {
				t.Fatal(err)
			}
		}
		if g := ex.Grads[name]; g != nil {
			fillBetween(t, rng, g, -1, 1)
		}
	}
	for _, name := range c.s.AuxStates() {
		fillBetween(t, rng, ex.Aux[name], 0.5, 1)
	}
	res := outcome{}
	for step := range 2 {
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		c.keep(t, res, fmt.Sprintf("step %d output", step), ex.Outputs())
		if len(ex.Grads) == 0 {
			continue
		}
		var heads []*nd.Array
		for _, o := range ex.Outputs() {
			h := nd.Empty(o.Shape())
			fillBetween(t, rng, h, -1, 1)
			heads = append(heads, h)
		}
		if err := ex.Backward(heads...); err != nil {
			t.Fatal(err)
		}
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	c.keep(t, res, "inference output", ex.Outputs())
	for name, g := range ex.Grads {
		res["gradient of "+name] = values(t, g)
	}
	for name, a := range ex.Aux {
		res["state "+name] = values(t, a)
	}
	return res
}

func (c *trial) keep(t *testing.T, res outcome, what string, list []*nd.Array) {
	for i, a := range list {
		res[fmt.Sprintf("%s %d", what, i)] = values(t, a)
	}
}

// onNaive runs f with an engine that does everything at once.
func onNaive(t *testing.T, f func()) {
	t.Helper()
	e, err := engine.New(engine.Config{Naive: true})
	if err != nil {
		t.Fatal(err)
	}
	old := engine.SetDefault(e)
	defer engine.SetDefault(old)
	f()
}

// selections are the sets of passes that a graph is tried with: by what they leave out.
func selections(rng *rand.Rand) map[string][]string {
	all := allPasses()
	list := map[string][]string{"all passes": nil}
	one := all[rng.IntN(len(all))]
	list["only "+one] = slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == one })
	list["all but "+one] = []string{one}
	exact := []string{}
	for _, p := range compile.Passes() {
		if p.Loose {
			exact = append(exact, p.Name)
		}
	}
	list["all exact passes"] = exact
	some := slices.DeleteFunc(slices.Clone(all), func(string) bool { return rng.IntN(2) == 0 })
	list[fmt.Sprint("all but ", some)] = some
	return list
}

// bitEqual reports whether a selection promises the bits of the graph without passes.
func bitEqual(without []string) bool {
	for _, p := range compile.Passes() {
		if p.Loose && !slices.Contains(without, p.Name) {
			return false
		}
	}
	return true
}

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of the random graphs")
	manySeeds = flag.Uint64("seeds", 50, "how many random graphs are tried")
)

// TestPassesAgree compares random graphs with and without passes: outputs, gradients and states of training, and
// outputs of inference. The graph without passes runs on the naive engine.
func TestPassesAgree(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*manySeeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { passesAgree(t, seed) })
	}
}

func passesAgree(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	g := newAnyGraph(rng)
	c := &trial{s: g.symbol(), seed: seed}
	tier := []device.Tier{device.TierRef, device.TierGo, device.TierC, device.TierC}[rng.IntN(4)]
	defer device.LimitTier(device.LimitTier(tier))
	c.config = sym.BindConfig{Shapes: map[string]dtype.Shape{}, GradReq: map[string]op.Req{}, Seed: seed}
	for _, name := range c.s.Arguments() {
		if s, ok := g.shape[name]; ok {
			c.config.Shapes[name] = s
		}
		c.config.GradReq[name] = []op.Req{op.ReqWrite, op.ReqWrite, op.ReqAdd, op.ReqNull}[rng.IntN(4)]
	}
	var want outcome
	onNaive(t, func() { want = c.run(t, true, nil) })
	bits := c.run(t, false, allPasses()) // layouts still change sums in convolutions
	for what, without := range selections(rng) {
		got := c.run(t, false, without)
		for key := range want {
			alike(t, what+": "+key, got[key], want[key])
			if bitEqual(without) {
				sameBits(t, what+": "+key, got[key], bits[key])
			}
		}
	}
}

// alike demands that no element differs by more than 1e-4 of the largest. Gradients that cancel to nothing are noise
// of the size of their terms.
func alike(t *testing.T, what string, got, want []float32) {
	t.Helper()
	largest := 0.1
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4*largest) {
			t.Fatalf("%s: got %v at %d, want %v (largest %v)", what, got[i], i, want[i], largest)
		}
	}
}

func allPasses() (names []string) {
	for _, p := range compile.Passes() {
		names = append(names, p.Name)
	}
	return names
}

// sameBits demands equal values, and NaN for NaN.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: got %v at %d, want exactly %v", what, got[i], i, want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
}

// TestRandomGraphsReachPasses makes sure that random graphs have something to do for every pass that depends on nothing but the graph.
func TestRandomGraphsReachPasses(t *testing.T) {
	reached := map[string]bool{}
	for seed := range uint64(120) {
		g := newAnyGraph(rand.New(rand.NewPCG(seed, 11)))
		c := sym.BindConfig{Shapes: map[string]dtype.Shape{}}
		s := g.symbol()
		for _, name := range s.Arguments() {
			if shape, ok := g.shape[name]; ok {
				c.Shapes[name] = shape
			}
		}
		for _, train := range []bool{true, false} {
			e, err := sym.Explain(s, c, train)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range e.Passes {
				reached[p.Pass] = reached[p.Pass] || len(p.Changes) > 0
			}
		}
	}
	for _, p := range compile.Passes() {
		if !p.Needed && !reached[p.Name] {
			t.Errorf("no random graph has anything to do for the pass %s", p.Name)
		}
	}
}
