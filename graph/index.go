package graph

import "gomx/op"

// Indexed is a graph whose nodes and entries are numbered: nodes in topological order, entries
// node by node. It is immutable.
type Indexed struct {
	Nodes   []*op.Node       // by node number
	Outputs []int            // entry numbers of the graph's outputs
	first   []int            // first entry number of each node; the number of entries at the end
	id      map[*op.Node]int // node numbers
}

// Index numbers the graph that computes outputs.
func Index(outputs []op.Entry) *Indexed { return IndexPhases(outputs, outputs) }

// IndexPhases numbers the graph that computes outputs, which begin with those called first: the
// nodes that first depends on come before all others.
func IndexPhases(first, outputs []op.Entry) *Indexed {
	g := &Indexed{Nodes: arrange(deepFirst(outputs), len(op.Topo(first))), id: map[*op.Node]int{}}
	g.first = make([]int, len(g.Nodes)+1)
	for i, n := range g.Nodes {
		g.id[n] = i
		g.first[i+1] = g.first[i] + n.NumOutputs()
	}
	g.Outputs = make([]int, len(outputs))
	for i, e := range outputs {
		g.Outputs[i] = g.Entry(e)
	}
	return g
}

// NumEntries returns the number of entries.
func (g *Indexed) NumEntries() int { return g.first[len(g.Nodes)] }

// Node returns the number of n; ok is false when n is not in the graph.
func (g *Indexed) Node(n *op.Node) (i int, ok bool) {
	i, ok = g.id[n]
	return i, ok
}

// Entry returns the number of e, whose node must be in the graph.
func (g *Indexed) Entry(e op.Entry) int { return g.first[g.id[e.Node]] + e.Index }

// Out returns the range [from, to) of the entries of node i.
func (g *Indexed) Out(i int) (from, to int) { return g.first[i], g.first[i+1] }
