package graph_test

import (
	"testing"

	"gomx/graph"
	"gomx/op"
)

// assign marks variables and outputs as external and gives every entry eight bytes.
func assign(g *graph.Indexed) *graph.Storage {
	places := make([]graph.Place, g.NumEntries())
	bytes := make([]int64, g.NumEntries())
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			if n.IsVar() {
				places[e] = graph.Source
			}
			bytes[e] = 8
		}
	}
	for _, e := range g.Outputs {
		places[e] = graph.Sink
	}
	return graph.AssignStorage(g, places, bytes, len(g.Nodes), nil)
}

func TestStorageSharesAChain(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := lookup(t, "tanh", x)
	b := lookup(t, "sigmoid", a)
	c := lookup(t, "exp", b)
	g := graph.Index([]op.Entry{c})
	s := assign(g)
	for name, e := range map[string]op.Entry{"tanh": a, "sigmoid": b, "exp": c} {
		if got, want := s.Root[g.Entry(e)], g.Entry(c); got != want {
			t.Errorf("%s's output has root %d, want %d: the chain is computed in the output's "+
				"array", name, got, want)
		}
	}
}

func TestStorageKeepsApart(t *testing.T) {
	a := lookup(t, "tanh", op.Var("x").Entry(0))
	b := lookup(t, "exp", a)
	g := graph.Index([]op.Entry{lookup(t, "sin", b)})
	places, bytes := []graph.Place{graph.Source, graph.Arena, graph.Arena, graph.Sink},
		[]int64{8, 8, 8, 8}
	for node, want := range []bool{true, true, false, true} {
		apart := make([]bool, len(g.Nodes))
		apart[node] = true
		s := graph.AssignStorage(g, places, bytes, len(g.Nodes), apart)
		if got := s.Root[g.Entry(a)] == s.Root[g.Entry(b)]; got != want {
			t.Errorf("node %d apart: tanh and exp share memory: %v, want %v", node, got, want)
		}
	}
}

func TestStorageKeepsForwardOutOfGradients(t *testing.T) {
	a := lookup(t, "tanh", op.Var("x").Entry(0))
	g := graph.Index([]op.Entry{lookup(t, "exp", a)})
	places := []graph.Place{graph.Source, graph.Arena, graph.Sink}
	s := graph.AssignStorage(g, places, []int64{8, 8, 8}, 2, nil)
	if got, want := s.Root[g.Entry(a)], g.Entry(a); got != want {
		t.Errorf("a forward value has root %d, want its own: the output belongs to the backward "+
			"part", got)
	}
}

func TestStorageKeepsWhatIsReadLater(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := lookup(t, "tanh", x)
	b := lookup(t, "sigmoid", a)
	c := lookup(t, "elemwise_mul", a, b)
	g := graph.Index([]op.Entry{lookup(t, "exp", c)})
	s := assign(g)
	if got, want := s.Root[g.Entry(b)], g.Entry(b); got != want {
		t.Errorf("sigmoid's output has root %d, want its own: its input is read by the product",
			got)
	}
	shares := 0
	for _, e := range []op.Entry{a, b} {
		if s.Root[g.Entry(e)] == s.Root[g.Entry(c)] {
			shares++
		}
	}
	if shares != 1 {
		t.Errorf("the product shares the memory of %d inputs, want one", shares)
	}
}

func TestStorageDoesNotOverwriteArguments(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := lookup(t, "tanh", x)
	g := graph.Index([]op.Entry{lookup(t, "exp", a)})
	s := assign(g)
	if got := s.Root[g.Entry(a)]; got == g.Entry(x) {
		t.Errorf("tanh's output has root %d, the argument's", got)
	}
}

func TestStorageCountsTwoReadsByOneNode(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := lookup(t, "tanh", x)
	b := lookup(t, "elemwise_mul", a, a)
	g := graph.Index([]op.Entry{lookup(t, "exp", b)})
	s := assign(g)
	// either is correct for an elementwise operator, but the life must cover both reads
	if s.End[s.Root[g.Entry(a)]] < s.Start[g.Entry(b)] {
		t.Errorf("memory of tanh ends at step %d, before it is read at %d",
			s.End[s.Root[g.Entry(a)]], s.Start[g.Entry(b)])
	}
}
