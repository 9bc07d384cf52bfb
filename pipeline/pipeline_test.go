package pipeline_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/internal/nettest"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/pipeline"
	"gomx/pipeline/cut"
	"gomx/pipeline/flow"
	sym "gomx/symbol"
)

var (
	firstSeed = flag.Uint64("seed", 0, "seed of the first random graph")
	manySeeds = flag.Uint64("seeds", 40, "number of random graphs")
)

// trial is a graph that is trained for some steps of micro-batches, as one graph and in stages.
type trial struct {
	net     *sym.Symbol
	shapes  map[string]dtype.Shape // of a micro-batch, of the variables that are fed
	learned map[string]bool
	micros  int
	steps   int
	seed    uint64
	bind    sym.BindConfig
	facts   *compile.Inferred
}

func newTrial(t *testing.T, net *sym.Symbol, fed map[string]dtype.Shape,
	all map[string]dtype.Shape) *trial {
	t.Helper()
	c := &trial{net: net, shapes: fed, learned: map[string]bool{}, micros: 3, steps: 2}
	net.Nodes()
	for _, name := range net.Arguments() {
		c.learned[name] = fed[name] == nil && !strings.HasSuffix(name, "_label")
	}
	known := map[string]dtype.Shape{}
	for _, name := range net.Arguments() {
		if s, ok := all[name]; ok {
			known[name] = s
		}
	}
	var err error
	c.facts, err = compile.Infer(net.Entries(), compile.Given{Shapes: known})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fill gives parameters and states values that depend on their names only.
func (c *trial) fill(t *testing.T, args, aux map[string]*nd.Array) {
	for _, part := range []map[string]*nd.Array{args, aux} {
		for name, a := range part {
			h := c.seed
			for _, b := range []byte(name) {
				h = h*131 + uint64(b)
			}
			rng := rand.New(rand.NewPCG(h, 3))
			if strings.HasSuffix(name, "_label") {
				label := make([]float32, a.Size())
				for i := range label {
					label[i] = float32(rng.IntN(12)) // a class
				}
				if err := nd.CopyFrom(a, label); err != nil {
					t.Fatal(err)
				}
			} else if _, state := aux[name]; state {
				nettest.FillBetween(t, rng, a, 0.5, 1)
			} else {
				nettest.FillGently(t, rng, a)
			}
		}
	}
}

// feed gives an executor the arrays of a micro-batch.
func (c *trial) feed(t *testing.T, step int) pipeline.Feed {
	return func(ex *sym.Executor, micro int) error {
		names := make([]string, 0, len(c.shapes))
		for name := range c.shapes {
			names = append(names, name)
		}
		slices.Sort(names)
		rng := rand.New(rand.NewPCG(c.seed, uint64(100*step+micro)))
		for _, name := range names {
			a := nd.Empty(c.shapes[name])
			nettest.FillBetween(t, rng, a, -1, 1)
			if ex.Args[name] == nil {
				continue
			}
			if err := ex.Feed(name, a); err != nil {
				return err
			}
		}
		return nil
	}
}

func (c *trial) keep(t *testing.T, res nettest.Outcome, step int, kind string,
	arrays map[string]*nd.Array) {
	for name, a := range arrays {
		res[fmt.Sprintf("step %d %s %s", step, kind, name)] = nettest.Values(t, a)
	}
}

// whole trains the uncut graph, which accumulates the gradients of the micro-batches.
func (c *trial) whole(t *testing.T) nettest.Outcome {
	t.Helper()
	b := c.bind
	b.Shapes, b.GradReq = map[string]dtype.Shape{}, map[string]op.Req{}
	for _, n := range c.net.Nodes() {
		if n.IsVar() {
			b.Shapes[n.Name], _ = c.facts.Of(n.Entry(0))
			b.GradReq[n.Name] = op.ReqNull
			if c.learned[n.Name] {
				b.GradReq[n.Name] = op.ReqAdd
			}
		}
	}
	ex, err := c.net.SimpleBind(b)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	c.fill(t, ex.Args, ex.Aux)
	res := nettest.Outcome{}
	for step := range c.steps {
		feed := c.feed(t, step)
		for _, g := range ex.Grads {
			g.Fill(0)
		}
		for j := range c.micros {
			if err := feed(ex, j); err != nil {
				t.Fatal(err)
			}
			ex.Seek(uint64(step*c.micros + j))
			if err := ex.Forward(true); err != nil {
				t.Fatal(err)
			}
			for i, a := range ex.Outputs() {
				res[fmt.Sprintf("step %d output %d", step, i)] = append(
					res[fmt.Sprintf("step %d output %d", step, i)], nettest.Values(t, a)...)
			}
			if err := ex.Backward(); err != nil {
				t.Fatal(err)
			}
		}
		c.keep(t, res, step, "gradient", ex.Grads)
		c.keep(t, res, step, "state", ex.Aux)
	}
	return res
}

// bindStage binds a stage of a plan.
func (c *trial) bindStage(t *testing.T, p *cut.Plan, q int) *pipeline.Stage {
	t.Helper()
	s, err := pipeline.Bind(pipeline.StageConfig{Plan: p, Stage: q, Micros: c.micros,
		Facts: c.facts, Bind: c.bind, Learned: func(name string) bool { return c.learned[name] },
		Fed: func(name string) bool { return c.shapes[name] != nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c.fill(t, s.Args, s.Aux)
	return s
}

// links opens and connects the links of a pipeline.
func links(t *testing.T, stages, micros int, list []flow.Link, open func(transport.Config) (
	transport.Endpoint, error), change func(*flow.Config)) []*pipeline.Link {
	t.Helper()
	all, addrs := make([]*pipeline.Link, stages), make([]string, stages)
	ranks := make([]int, stages)
	for q := range ranks {
		ranks[q] = 10 + q
	}
	for q := range all {
		f := flow.Config{Stage: q, Stages: stages, Micros: micros, Links: list}
		if change != nil {
			change(&f)
		}
		l, err := pipeline.Listen(pipeline.LinkConfig{Flow: f, Ranks: ranks, Job: 7, Open: open})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		all[q], addrs[q] = l, l.Addr()
	}
	for _, l := range all {
		if err := l.Connect(addrs); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func onNetwork() func(transport.Config) (transport.Endpoint, error) {
	n := mem.NewNetwork(1)
	return func(c transport.Config) (transport.Endpoint, error) { return mem.Open(n, c) }
}

// staged trains the graph in stages.
func (c *trial) staged(t *testing.T, p *cut.Plan) nettest.Outcome {
	t.Helper()
	list := links(t, len(p.Stages), c.micros, pipeline.LinksOf(p, c.facts), onNetwork(), nil)
	res := nettest.Outcome{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	errs := make([]error, len(p.Stages))
	for q := range p.Stages {
		s := c.bindStage(t, p, q)
		wg.Go(func() {
			for step := range c.steps {
				if errs[q] = list[q].Step(t.Context(), flow.OneForwardOneBackward,
					s.Train(uint64(step*c.micros), c.feed(t, step))); errs[q] != nil {
					return
				}
				mu.Lock()
				outs, numbers := s.Outputs()
				for i, a := range outs {
					res[fmt.Sprintf("step %d output %d", step, numbers[i])] = nettest.Values(t, a)
				}
				c.keep(t, res, step, "gradient", s.Grads)
				c.keep(t, res, step, "state", s.Aux)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return res
}

// compare demands the same results, to the bit.
func compare(t *testing.T, got, want nettest.Outcome, same func(*testing.T, string, []float32,
	[]float32)) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d results, want %d", len(got), len(want))
	}
	for key := range want {
		same(t, key, got[key], want[key])
	}
}

// exact returns the comparison with the uncut graph. The reference kernel rounds a sum of three
// gradients once, and a sum in two stages twice, so without the kernels in C results are close only.
func exact() func(*testing.T, string, []float32, []float32) {
	if device.MaxTier() < device.TierC {
		return nettest.Alike
	}
	return nettest.SameBits
}

// scaled multiplies all results.
func scaled(res nettest.Outcome, by float32) nettest.Outcome {
	for _, v := range res {
		for i := range v {
			v[i] *= by
		}
	}
	return res
}

// contiguous cuts the order of the operators at random places.
func contiguous(rng *rand.Rand, outs []op.Entry, stages int) map[*op.Node]int {
	var ops []*op.Node
	for _, n := range graph.Order(outs) {
		if !n.IsVar() {
			ops = append(ops, n)
		}
	}
	at := map[*op.Node]int{}
	ends := rng.Perm(len(ops) - 1)[:stages-1]
	slices.Sort(ends)
	for i, n := range ops {
		at[n] = 0
		for _, e := range ends {
			if i > e {
				at[n]++
			}
		}
	}
	return at
}

// TestRandomCuts trains random graphs that are cut at random places: outputs, gradients and states
// are those of the uncut graph, to the bit.
func TestRandomCuts(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*manySeeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 21))
			g := nettest.NewAnyGraph(rng)
			net := g.Symbol()
			fed := map[string]dtype.Shape{}
			for _, name := range []string{"image", "row", "other"} {
				if slices.Contains(net.Arguments(), name) {
					fed[name] = g.Shape[name]
				}
			}
			c := newTrial(t, net, fed, g.Shape)
			c.seed, c.bind.Seed, c.bind.NoFusion = seed, seed, true
			c.micros = 1 + rng.IntN(5)
			for _, name := range net.Arguments() {
				if rng.IntN(5) == 0 {
					c.learned[name] = false
				}
			}
			count := 0
			for _, n := range net.Nodes() {
				if !n.IsVar() {
					count++
				}
			}
			stages := min(1+rng.IntN(4), count)
			p, err := cut.Cut(net.Entries(), contiguous(rng, net.Entries(), stages), stages,
				func(v *op.Node) bool { return c.learned[v.Name] })
			if err != nil {
				t.Fatal(err)
			}
			want := c.whole(t)
			compare(t, c.staged(t, p), want, exact())
			c.bind.NoFusion = false
			// Sums over micro-batches have more rounding than the values that Alike is made for.
			compare(t, scaled(c.staged(t, p), 1/float32(c.micros)), scaled(want,
				1/float32(c.micros)), nettest.Alike)
		})
	}
}
