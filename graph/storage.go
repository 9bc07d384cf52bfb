package graph

import (
	"slices"

	"gomx/op"
)

// Storage says which entries share memory. Every entry has a root: itself, or the entry whose
// memory it lives in because an operator works in place or only passes data on. Roots that are
// external (variables, outputs, gradients) live in arrays of their own; the others want
// Bytes[root] bytes from step Start[root] to step End[root] inclusive, steps being node numbers.
// All slices are indexed by entry number.
type Storage struct {
	Root       []int   // entry number of the root
	Bytes      []int64 // size in bytes
	Start, End []int   // first and last node that uses the memory; valid for roots
}

// Place says where an entry may live.
type Place uint8

// The places of entries.
const (
	Arena  Place = iota // memory of the graph's own
	Source              // an array outside that holds a value before the graph runs: a variable
	Sink                // an array outside that the graph overwrites: an output or a gradient
)

// AssignStorage decides which entries share memory. places holds the place of every entry (every
// variable is a Source); bytes holds the size of every entry. An operator writes in place only if
// no node reads any entry in the memory of the input afterwards. If an operator writes in place
// into a Sink, its input is computed in the Sink from the start. But the first forward nodes do not
// write to the sinks of later nodes: a forward pass does not touch gradients. apart marks the nodes
// that do not work in place; nil: none.
func AssignStorage(g *Indexed, places []Place, bytes []int64, forward int, apart []bool) *Storage {
	a := &assigner{g: g, places: places, forward: forward, apart: apart,
		pending: make([]int, g.NumEntries()), taken: make([]bool, g.NumEntries())}
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

// assigner is the state of one run of AssignStorage.
type assigner struct {
	Storage
	g       *Indexed
	places  []Place // by entry; belongs to the caller and is not changed
	forward int     // number of nodes of the forward part
	pending []int   // by root entry: reads of all its entries that are still to come
	taken   []bool  // by entry: it is a sink in which an input is computed already
	apart   []bool  // by node: it does not work in place; nil: every node may
}

func (a *assigner) visit(i int, n *op.Node) {
	from, to := a.g.Out(i)
	if n.Op.Identity {
		a.share(a.Root[a.g.Entry(n.In[0])], from)
	} else if a.apart == nil || !a.apart[i] {
		for _, pair := range n.Op.Inplace {
			in, out := pair[0], from+pair[1]
			if in >= len(n.In) || out >= to || ignores(n, in) {
				continue
			}
			root := a.Root[a.g.Entry(n.In[in])]
			if a.places[root] == Arena && a.pending[root] == 1 && !n.Mutates(in) {
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

// share puts entry out into the memory of root, or, when out is a sink, the entries of root into
// the memory of out; both must agree in size and out must be free to move.
func (a *assigner) share(root, out int) {
	switch {
	case a.Root[out] != out || a.taken[out] || a.Bytes[root] != a.Bytes[out]:
	case a.places[out] == Arena:
		a.Root[out] = root
		a.pending[root] += a.pending[out]
	case a.Start[out] >= a.forward && a.Start[root] < a.forward:
	case a.places[out] == Sink && a.places[root] == Arena && a.pending[root] == 1:
		for e, r := range a.Root {
			if r == root {
				a.Root[e] = out
			}
		}
		a.pending[out] += a.pending[root]
		a.taken[out] = true
	}
}
