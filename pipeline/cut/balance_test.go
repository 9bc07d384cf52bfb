package cut_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/internal/nettest"
	"gomx/op"
	"gomx/pipeline/cut"
	sym "gomx/symbol"

	"gomx/graph"
)

var (
	firstSeed = flag.Uint64("seed", 0, "seed of the first random graph")
	manySeeds = flag.Uint64("seeds", 60, "number of random graphs")
)

// slowest computes the time of the slowest stage from a plan: the operators of the stage, and the
// transfers from and to it in both directions.
func slowest(t *testing.T, outs []op.Entry, at map[*op.Node]int, stages int, c cut.Costs) float64 {
	t.Helper()
	p, err := cut.Cut(outs, at, stages, c.Learned)
	if err != nil {
		t.Fatal(err)
	}
	times := make([]float64, stages)
	for n, q := range at {
		times[q] += c.Seconds(n)
	}
	for _, x := range p.Transfers {
		v := 2*c.Latency + 2*c.Bytes(x.Entry)/c.Link
		times[x.From] += v
		times[x.To] += v
	}
	most := 0.0
	for _, v := range times {
		most = max(most, v)
	}
	return most
}

// distinct leaves out outputs that are variables or occur twice, which Cut copies.
func distinct(outs []op.Entry) (list []op.Entry) {
	for _, e := range outs {
		if !e.Node.IsVar() && !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// TestBalance compares the placement with the best one of all contiguous placements, which an
// exhaustive search finds.
func TestBalance(t *testing.T) {
	compared := 0
	for seed := *firstSeed; seed < *firstSeed+*manySeeds; seed++ {
		rng := rand.New(rand.NewPCG(seed, 5))
		net := nettest.NewAnyGraph(rng).Symbol()
		outs, names := distinct(net.Entries()), net.Arguments()
		seconds, bytes := map[*op.Node]float64{}, map[op.Entry]float64{}
		learned := map[string]bool{}
		for _, name := range names {
			learned[name] = rng.IntN(2) == 0
		}
		var ops []*op.Node
		for _, n := range graph.Order(outs) {
			for i := range n.NumOutputs() {
				bytes[n.Entry(i)] = float64(rng.IntN(50))
			}
			if !n.IsVar() {
				ops = append(ops, n)
				seconds[n] = rng.Float64()
			}
		}
		c := cut.Costs{Seconds: func(n *op.Node) float64 { return seconds[n] },
			Bytes: func(e op.Entry) float64 { return bytes[e] }, Link: 1 + 100*rng.Float64(),
			Latency: rng.Float64() / 10, Learned: func(v *op.Node) bool { return learned[v.Name] }}
		stages := 1 + rng.IntN(3)
		if len(ops) < stages || len(ops) > 40 {
			continue
		}
		got, err := cut.Balance(outs, stages, c)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		best := math.Inf(1)
		try := func(ends ...int) {
			at := map[*op.Node]int{}
			for i, n := range ops {
				for q := 0; i >= ends[q]; q++ {
					at[n] = q + 1
				}
				at[n] += 0
			}
			best = min(best, slowest(t, outs, at, stages, c))
		}
		n := len(ops)
		switch stages {
		case 1:
			try(n)
		case 2:
			for i := 1; i < n; i++ {
				try(i, n)
			}
		case 3:
			for i := 1; i < n; i++ {
				for j := i + 1; j < n; j++ {
					try(i, j, n)
				}
			}
		}
		compared++
		own := slowest(t, outs, got.At, stages, c)
		if math.Abs(got.Seconds-own) > 1e-9*own || math.Abs(own-best) > 1e-9*best {
			t.Errorf("seed %d: %d operators, %d stages: got %v, which takes %v, the best takes %v",
				seed, n, stages, got.Seconds, own, best)
		}
	}
	if compared < int(*manySeeds)/2 {
		t.Errorf("%d graphs compared of %d", compared, *manySeeds)
	}
}

// TestBalanceKeepsToMemory gives the stages a limit, which moves the cut, and one that nothing
// keeps to.
func TestBalanceKeepsToMemory(t *testing.T) {
	x := sym.Var("data")
	for i := range 4 {
		x = sym.Tanh(x, sym.Name(fmt.Sprint("tanh", i)))
	}
	x.Nodes()
	c := cut.Costs{Seconds: func(n *op.Node) float64 {
		if n.Name == "tanh0" {
			return 10
		}
		return 1
	}, Bytes: func(op.Entry) float64 { return 1 }, Memory: func(*op.Node) float64 { return 100 }}
	count := func(limit float64) int {
		c.Limit = limit
		b, err := cut.Balance(x.Entries(), 2, c)
		if err != nil {
			return -1
		}
		first := 0
		for _, q := range b.At {
			first += 1 - q
		}
		return first
	}
	for limit, want := range map[float64]int{0: 1, 300: 1, 200: 2, 150: -1} {
		if got := count(limit); got != want {
			t.Errorf("limit %v: %d operators in the first stage, want %d", limit, got, want)
		}
	}
}
