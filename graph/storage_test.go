package graph_test

import (
	"testing"

	"gomx/graph"
	"gomx/op"
)

// assign marks variables and outputs as external and gives every entry eight bytes.
func assign(g *graph.Indexed) *graph.Storage {
	external := make([]bool, g.NumEntries())
	bytes := make([]int64, g.NumEntries())
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			external[e] = n.IsVar()
			bytes[e] = 8
		}
	}
	for _, e := range g.Outputs {
		external[e] = true
	}
	return graph.AssignStorage(g, external, bytes)
}

func TestStorageSharesAChain(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := lookup(t, "tanh", x)
	b := lookup(t, "sigmoid", a)
	c := lookup(t, "exp", b)
	g := graph.Index([]op.Entry{c})
	s := assign(g)
	if got, want := s.Root[g.Entry(b)], g.Entry(a); got != want {
		t.Errorf("sigmoid's output has root %d, want %d: the input is not read again", got, want)
	}
	if got, want := s.Root[g.Entry(c)], g.Entry(c); got != want {
		t.Errorf("an output has root %d, want %d: it is external", got, want)
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
		t.Errorf("sigmoid's output has root %d, want its own: its input is read by the product", got)
	}
	if got := s.Root[g.Entry(c)]; got != g.Entry(a) && got != g.Entry(b) {
		t.Errorf("the product has root %d, want that of an input", got)
	}
}

func TestStorageDoesNotOverwriteArguments(t *testing.T) {
	x := op.Var("x").Entry(0)
	a := lookup(t, "tanh", x)
	g := graph.Index([]op.Entry{lookup(t, "exp", a)})
	s := assign(g)
	if got, want := s.Root[g.Entry(a)], g.Entry(a); got != want {
		t.Errorf("tanh's output has root %d, want %d: its input is an argument", got, want)
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
		t.Errorf("memory of tanh ends at step %d, before it is read at %d", s.End[s.Root[g.Entry(a)]], s.Start[g.Entry(b)])
	}
}
