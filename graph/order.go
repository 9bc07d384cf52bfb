package graph

import (
	"container/heap"
	"slices"

	"gomx/op"
)

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

// few is the largest number of inputs of a node of which the deepest is computed first.
const few = 3

// deepFirst returns the nodes that outputs depend on in topological order, outputs one after the
// other. Of the inputs of a node, the one with the longest chain of nodes before it comes first, so
// that a value that takes few nodes is computed shortly before it is read and not kept for long.
// Nodes with more than few inputs keep the order of their inputs, mostly the order in which a loop
// made them.
func deepFirst(outputs []op.Entry) []*op.Node { return deepest(outputs, before) }

// Order returns the nodes that outputs depend on in the order whose reverse is the order of the terms
// that Gradient adds up. It is topological but for control dependencies.
func Order(outputs []op.Entry) []*op.Node { return byData(outputs) }

// byData is deepFirst for the inputs alone: control dependencies do not change the order, and may
// be violated.
func byData(outputs []op.Entry) []*op.Node {
	return deepest(outputs, func(n *op.Node) []*op.Node {
		list := make([]*op.Node, len(n.In))
		for i, e := range n.In {
			list[i] = e.Node
		}
		return list
	})
}

// deepest is deepFirst for the nodes that before lists.
func deepest(outputs []op.Entry, before func(n *op.Node) []*op.Node) []*op.Node {
	depth := map[*op.Node]int{}
	for _, n := range op.Topo(outputs) {
		for _, m := range before(n) {
			depth[n] = max(depth[n], depth[m]+1)
		}
	}
	var order []*op.Node
	var stack []visit
	done := make(map[*op.Node]bool, len(depth))
	enter := func(n *op.Node) {
		if done[n] {
			return
		}
		done[n] = true
		in := before(n)
		if len(n.In) <= few {
			slices.SortStableFunc(in, func(a, b *op.Node) int { return depth[b] - depth[a] })
		}
		stack = append(stack, visit{n, in})
	}
	for _, e := range outputs {
		enter(e.Node)
		for len(stack) > 0 {
			v := &stack[len(stack)-1]
			if len(v.in) == 0 {
				order = append(order, v.n)
				stack = stack[:len(stack)-1]
				continue
			}
			m := v.in[0]
			v.in = v.in[1:]
			enter(m)
		}
	}
	return order
}

// visit is a node on the stack of deepFirst.
type visit struct {
	n  *op.Node
	in []*op.Node // nodes that run before n and are still to be entered
}

// before lists the nodes that run before n.
func before(n *op.Node) []*op.Node {
	list := make([]*op.Node, 0, len(n.In)+len(n.After))
	for _, e := range n.In {
		list = append(list, e.Node)
	}
	return append(list, n.After...)
}

// arrange orders the nodes of a graph, of which the first forward ones belong to the forward part.
// The backward part computes the gradients of the last forward nodes first, independent of the
// order of the outputs, so that the values of the forward part are freed in the reverse of the
// order in which they were made. Nodes that only pass gradients on, such as sums, run as soon as
// they can; nodes that only read the forward part run as late as they can.
//
// In either part an operator that is the only reader of two or more inputs and can work in place
// comes right behind them: the terms of a gradient that many steps share are added as they come
// instead of all being kept. The order is topological.
func arrange(nodes []*op.Node, forward int) []*op.Node {
	a := &arranger{nodes: nodes, forward: forward, readers: make([][]int, len(nodes)),
		waits: make([]int, len(nodes)),
		frees: make([]bool, len(nodes)), done: make([]bool, len(nodes))}
	a.count()
	a.ready.turn = a.turns()
	for i := range nodes[:forward] {
		if !a.done[i] {
			a.emit(i)
		}
	}
	for i := forward; i < len(nodes); i++ {
		if a.waits[i] == 0 {
			heap.Push(&a.ready, i)
		}
	}
	for len(a.ready.nodes) > 0 {
		a.emit(heap.Pop(&a.ready).(int))
	}
	return a.order
}

// arranger is the state of arrange, by node number.
type arranger struct {
	nodes   []*op.Node // in topological order; not changed
	forward int        // number of nodes of the forward part
	readers [][]int    // nodes that wait for this one, once per input
	waits   []int      // number of inputs and control dependencies that have not run
	frees   []bool     // running it early frees memory
	done    []bool     // it is in order
	ready   queue      // nodes of the backward part that wait for nothing
	order   []*op.Node // the result so far
}

// count fills in readers, waits and frees.
func (a *arranger) count() {
	id := make(map[*op.Node]int, len(a.nodes))
	uses := map[op.Entry]int{}
	for i, n := range a.nodes {
		id[n] = i
		for _, e := range n.In {
			a.readers[id[e.Node]] = append(a.readers[id[e.Node]], i)
			uses[e]++
		}
		for _, m := range n.After {
			a.readers[id[m]] = append(a.readers[id[m]], i)
		}
		a.waits[i] = len(n.In) + len(n.After)
	}
	for i, n := range a.nodes {
		a.frees[i] = !n.IsVar() && len(n.In) > 1 && len(n.Op.Inplace) > 0
		for _, e := range n.In {
			a.frees[i] = a.frees[i] && !e.Node.IsVar() && uses[e] == 1
		}
	}
}

// turns gives a turn to every node of the backward part: its own, or else the latest of the
// gradients that it reads, or else the first of the nodes that read it.
func (a *arranger) turns() []int {
	turn := make([]int, len(a.nodes))
	for i := a.forward; i < len(a.nodes); i++ {
		if own := a.nodes[i].Turn; own > 0 {
			turn[i] = own
		}
		for _, r := range a.readers[i] {
			turn[r] = max(turn[r], turn[i])
		}
	}
	for i := len(a.nodes) - 1; i >= a.forward; i-- {
		if turn[i] > 0 {
			continue
		}
		for _, r := range a.readers[i] {
			if turn[i] == 0 || turn[r] < turn[i] {
				turn[i] = turn[r]
			}
		}
	}
	return turn
}

// emit appends node i to the order, and right behind it the readers that became ready and free
// memory. It queues the other readers that became ready.
func (a *arranger) emit(i int) {
	a.done[i] = true
	a.order = append(a.order, a.nodes[i])
	for _, r := range a.readers[i] {
		a.waits[r]--
		switch {
		case a.waits[r] > 0 || i < a.forward && r >= a.forward:
		case a.frees[r]:
			a.emit(r)
		case i >= a.forward:
			heap.Push(&a.ready, r)
		}
	}
}

// queue is a heap of node numbers by turn, and then by number.
type queue struct {
	nodes []int // node numbers in heap order
	turn  []int // by node number
}

func (q *queue) Len() int { return len(q.nodes) }

func (q *queue) Less(i, j int) bool {
	a, b := q.nodes[i], q.nodes[j]
	return q.turn[a] < q.turn[b] || q.turn[a] == q.turn[b] && a < b
}

func (q *queue) Swap(i, j int) { q.nodes[i], q.nodes[j] = q.nodes[j], q.nodes[i] }

func (q *queue) Push(x any) { q.nodes = append(q.nodes, x.(int)) }

func (q *queue) Pop() any {
	last := q.nodes[len(q.nodes)-1]
	q.nodes = q.nodes[:len(q.nodes)-1]
	return last
}
