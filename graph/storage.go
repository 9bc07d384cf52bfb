package graph

import (
	"slices"

	"gomx/op"
)

// Storage says which entries share memory. Every entry has a root: itself, or the entry whose
// memory it lives in because an operator works in place or only passes data on. Roots that are
// external (variables, outputs, gradients) live in arrays of their own; the others want
// Bytes[root] bytes from step Start[root] to step End[root] inclusive, steps being node numbers.
type Storage struct {
	Root       []int
	Bytes      []int64
	Start, End []int
}

// AssignStorage decides what shares memory. external marks entries that live outside the arena
// (every variable must be marked); bytes is the size of every entry. An operator writes in place
// only when nobody reads the input afterwards, however many names the memory has.
func AssignStorage(g *Indexed, external []bool, bytes []int64) *Storage {
	a := &assigner{g: g, external: external, pending: make([]int, g.NumEntries())}
	a.Root = make([]int, g.NumEntries())
	a.Bytes = slices.Clone(bytes)
	a.Start = make([]int, g.NumEntries())
	a.End = make([]int, g.NumEntries())
	uses := countUses(g)
	for e := range a.Root {
		a.Root[e] = e
		a.pending[e] = uses[e]
	}
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		for e := from; e < to; e++ {
			a.Start[e], a.End[e] = i, i
		}
		if !n.IsVar() {
			a.visit(i, n)
		}
	}
	return &a.Storage
}

// countUses counts the readers of every entry; being an output counts as one.
func countUses(g *Indexed) []int {
	uses := make([]int, g.NumEntries())
	for _, n := range g.Nodes {
		for k, e := range n.In {
			if !ignores(n, k) {
				uses[g.Entry(e)]++
			}
		}
	}
	for _, e := range g.Outputs {
		uses[e]++
	}
	return uses
}

// ignores reports whether node n reads only the shape of its input k.
func ignores(n *op.Node, k int) bool { return slices.Contains(n.Op.Ignores, k) }

// assigner is the state of one run of AssignStorage. pending counts, per root, the reads of all
// its entries that are still to come.
type assigner struct {
	Storage
	g        *Indexed
	external []bool
	pending  []int
}

func (a *assigner) visit(i int, n *op.Node) {
	from, to := a.g.Out(i)
	if n.Op.Identity {
		a.share(a.Root[a.g.Entry(n.In[0])], from)
	} else {
		for _, pair := range n.Op.Inplace {
			in, out := pair[0], from+pair[1]
			if in >= len(n.In) || out >= to || ignores(n, in) {
				continue
			}
			root := a.Root[a.g.Entry(n.In[in])]
			if !a.external[root] && a.pending[root] == 1 && !n.Mutates(in) {
				a.share(root, out)
			}
		}
	}
	for k, e := range n.In {
		if ignores(n, k) {
			continue
		}
		root := a.Root[a.g.Entry(e)]
		a.pending[root]--
		a.End[root] = max(a.End[root], i)
	}
	for e := from; e < to; e++ {
		root := a.Root[e]
		a.End[root] = max(a.End[root], i)
	}
}

// share puts entry out into the memory of root, if both agree in size and out is free to move.
func (a *assigner) share(root, out int) {
	if a.external[out] || a.Root[out] != out || a.Bytes[root] != a.Bytes[out] {
		return
	}
	a.Root[out] = root
	a.pending[root] += a.pending[out]
}
