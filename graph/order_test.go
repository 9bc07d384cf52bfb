package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/graph"
	"gomx/op"
)

func TestSumsRunAsSoonAsTheirTermsExist(t *testing.T) {
	// sum of four terms whose last one is visited late because another output wants all terms
	x := op.Var("x").Entry(0)
	var terms []op.Entry
	step := x
	for range 4 {
		step = lookup(t, "tanh", step)
		terms = append(terms, lookup(t, "exp", step))
	}
	sum := terms[0]
	for _, term := range terms[1:] {
		sum = lookup(t, "_grad_add", sum, term)
	}
	// the chain of tanh is an output of its own and comes first
	g := graph.Index([]op.Entry{step, sum})
	alive, most := 0, 0
	for _, n := range g.Nodes {
		switch {
		case n.IsVar():
		case n.Op.Name == "exp":
			alive++
		case n.Op.Name == "_grad_add":
			alive--
		}
		most = max(most, alive)
	}
	if most > 2 {
		t.Errorf("got %d terms alive at once, want at most 2", most)
	}
}

func TestOrderStaysTopological(t *testing.T) {
	x := op.Var("x").Entry(0)
	values := []op.Entry{x, lookup(t, "tanh", x)}
	for i := range 60 {
		a, b := values[(i*7+3)%len(values)], values[(i*5+1)%len(values)]
		name := []string{"elemwise_add", "_grad_add", "elemwise_mul"}[i%3]
		values = append(values, lookup(t, name, a, b))
	}
	outs := values[len(values)-6:]
	g := graph.IndexPhases(outs[:3], outs)
	forward := len(op.Topo(outs[:3]))
	inForward := map[*op.Node]bool{}
	for _, n := range op.Topo(outs[:3]) {
		inForward[n] = true
	}
	at := map[*op.Node]int{}
	for i, n := range g.Nodes {
		at[n] = i + 1
		for _, e := range n.In {
			if at[e.Node] == 0 {
				t.Fatalf("node %d runs before its input", i)
			}
		}
		if inForward[n] != (i < forward) {
			t.Fatalf("node %d of %d forward nodes is on the wrong side", i, forward)
		}
	}
	if len(g.Nodes) != len(op.Topo(outs)) {
		t.Errorf("got %d nodes, want %d", len(g.Nodes), len(op.Topo(outs)))
	}
}

// TestBackwardGoesFromTheLastToTheFirst makes a grid of nodes, each of which reads its neighbours
// before it, and asks for gradients from the first on.
func TestBackwardGoesFromTheLastToTheFirst(t *testing.T) {
	const layers, steps = 3, 5
	var w, below, outs []op.Entry
	for l := range layers {
		w = append(w, op.Var(fmt.Sprint("w", l)).Entry(0))
	}
	place := map[string]int{}
	state := slices.Clone(w)
	for s := range steps {
		below = []op.Entry{op.Var(fmt.Sprint("x", s)).Entry(0)}
		for l := range layers {
			joined := named(t, "elemwise_mul", fmt.Sprint("join", l, "_", s), below[l], state[l])
			state[l] = named(t, "tanh", fmt.Sprint("cell", l, "_", s), named(t, "elemwise_mul",
				fmt.Sprint("gate", l, "_", s), joined, w[l]))
			below = append(below, state[l])
		}
		outs = append(outs, state[layers-1])
	}
	forward := op.Topo(outs)
	for i, n := range forward {
		place[n.Name] = i
	}
	grads, err := graph.Gradient(outs, nil, w)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.IndexPhases(outs, append(outs, grads...))
	last, seen := len(forward), 0
	for _, n := range g.Nodes[len(forward):] {
		name, _, found := strings.Cut(n.Name, "_backward")
		at, ok := place[name]
		if !found || !ok {
			continue // a sum, or a gradient that comes from outside
		}
		seen++
		if at > last {
			t.Errorf("%s, of node %d, comes behind that of node %d", n.Name, at, last)
		}
		last = at
	}
	if want := 3 * layers * steps; seen < want {
		t.Errorf("%d gradients of nodes found, want at least %d", seen, want)
	}
}
