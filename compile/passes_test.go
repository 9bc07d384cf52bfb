package compile_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// selections are sets of passes, by the passes that they leave out; each graph is tried with all.
func selections(rng *rand.Rand) map[string][]string {
	all := allPasses()
	list := map[string][]string{"all passes": nil}
	one := all[rng.IntN(len(all))]
	list["only "+one] = slices.DeleteFunc(slices.Clone(all),
		func(n string) bool { return n == one })
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

// TestPassesAgree compares random graphs with and without passes: outputs, gradients and states of
// training, and outputs of inference. The graph without passes runs on the naive engine.
func TestPassesAgree(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*manySeeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { passesAgree(t, seed) })
	}
}

func passesAgree(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	g := nettest.NewAnyGraph(rng)
	c := &nettest.Trial{Net: g.Symbol(), Seed: seed}
	tier := []device.Tier{device.TierRef, device.TierGo, device.TierC, device.TierC}[rng.IntN(4)]
	defer device.LimitTier(device.LimitTier(tier))
	c.Config = sym.BindConfig{Shapes: map[string]dtype.Shape{}, GradReq: map[string]op.Req{},
		Seed: seed}
	for _, name := range c.Net.Arguments() {
		if s, ok := g.Shape[name]; ok {
			c.Config.Shapes[name] = s
		}
		c.Config.GradReq[name] = []op.Req{op.ReqWrite, op.ReqWrite, op.ReqAdd,
			op.ReqNull}[rng.IntN(4)]
	}
	var want nettest.Outcome
	nettest.OnNaive(t, func() { want = c.Run(t, true, nil) })
	bits := c.Run(t, false, allPasses()) // layouts still change sums in convolutions
	for what, without := range selections(rng) {
		got := c.Run(t, false, without)
		for key := range want {
			nettest.Alike(t, what+": "+key, got[key], want[key])
			if bitEqual(without) {
				nettest.SameBits(t, what+": "+key, got[key], bits[key])
			}
		}
	}
}

func allPasses() (names []string) {
	for _, p := range compile.Passes() {
		names = append(names, p.Name)
	}
	return names
}

// TestRandomGraphsReachPasses makes sure that random graphs have something to do for every pass
// that depends on nothing but the graph. Random graphs have gradients, and so no quantized
// operators: TestLayersAreOneOperator of package quantize reaches the pass for these. Functions of
// channels are random in TestFoldedAffineAgrees of package graph. Nor are they on
// GPUs: tests of package exec for CUDA reach the passes that work there alone.
func TestRandomGraphsReachPasses(t *testing.T) {
	reached := map[string]bool{}
	for seed := range uint64(120) {
		g := nettest.NewAnyGraph(rand.New(rand.NewPCG(seed, 11)))
		c := sym.BindConfig{Shapes: map[string]dtype.Shape{}}
		s := g.Symbol()
		for _, name := range s.Arguments() {
			if shape, ok := g.Shape[name]; ok {
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
	elsewhere := []string{"fuse-quantized", "fold-affine", "spare-bias",
		"add-in-products", "keep-casts", "join-casts"}
	for _, p := range compile.Passes() {
		if !p.Needed && !reached[p.Name] && !slices.Contains(elsewhere, p.Name) {
			t.Errorf("no random graph has anything to do for the pass %s", p.Name)
		}
	}
}

// passesOf lists the passes for composed and for whole graphs that change a network when it is
// trained.
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
		if changed[p.Name] && !p.Needed && p.Always() {
			names = append(names, p.Name)
		}
	}
	return names
}

// BenchmarkPasses measures steps of training with all passes for whole graphs, without one pass that
// changes the network, and without any pass. It also measures binding: the least of five.
func BenchmarkPasses(b *testing.B) {
	for _, w := range nettest.Written {
		net := w.Net(sym.Var("data"))
		c := sym.BindConfig{Shapes: map[string]dtype.Shape{"data": w.Shape},
			GradReq: map[string]op.Req{}}
		all := passesOf(b, net, c)
		b.Run(w.Name+"/all", func(b *testing.B) { benchmarkPasses(b, net, c) })
		for _, p := range all {
			c.Without = []string{p}
			b.Run(w.Name+"/without "+p, func(b *testing.B) { benchmarkPasses(b, net, c) })
		}
		c.Without = all
		b.Run(w.Name+"/none", func(b *testing.B) { benchmarkPasses(b, net, c) })
	}
}

func benchmarkPasses(b *testing.B, net *sym.Symbol, c sym.BindConfig) {
	ex, binding := bindQuickly(b, net, c)
	defer ex.Close()
	for _, a := range ex.Args {
		a.Set(nd.Uniform(-0.1, 0.1, a.Shape(), nd.Seed(1)))
	}
	run := func() {
		nettest.Step(b, ex)
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

// bindQuickly binds and compiles a network five times, and returns the last executor and the least
// time.
func bindQuickly(b *testing.B, net *sym.Symbol, c sym.BindConfig) (ex *sym.Executor,
	least time.Duration) {
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
