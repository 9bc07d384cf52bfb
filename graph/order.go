package graph

import "gomx/op"

// hoist moves operators forward that free memory: one that is the only reader of two or more
// inputs and can work in place runs as soon as its inputs exist. So the terms of a gradient that
// many steps share are added as they come instead of all being kept. The order stays topological,
// and nodes from number forward on stay behind those before.
func hoist(nodes []*op.Node, forward int) []*op.Node {
	h := &hoister{nodes: nodes, forward: forward, readers: make([][]int, len(nodes)), waits: make([]int, len(nodes)),
		frees: make([]bool, len(nodes)), done: make([]bool, len(nodes))}
	h.count()
	for i := range nodes {
		if !h.done[i] {
			h.emit(i)
		}
	}
	return h.order
}

// hoister is the state of hoist, by node number.
type hoister struct {
	nodes   []*op.Node
	forward int
	readers [][]int // nodes that wait for this one, once per input
	waits   []int   // inputs and control dependencies that have not run
	frees   []bool  // running it early frees memory
	done    []bool
	order   []*op.Node
}

// count fills in who waits for whom, and which nodes free memory.
func (h *hoister) count() {
	id := make(map[*op.Node]int, len(h.nodes))
	uses := map[op.Entry]int{}
	for i, n := range h.nodes {
		id[n] = i
		for _, e := range n.In {
			h.readers[id[e.Node]] = append(h.readers[id[e.Node]], i)
			uses[e]++
		}
		for _, a := range n.After {
			h.readers[id[a]] = append(h.readers[id[a]], i)
		}
		h.waits[i] = len(n.In) + len(n.After)
	}
	for i, n := range h.nodes {
		h.frees[i] = !n.IsVar() && len(n.In) > 1 && len(n.Op.Inplace) > 0
		for _, e := range n.In {
			h.frees[i] = h.frees[i] && !e.Node.IsVar() && uses[e] == 1
		}
	}
}

// emit runs node i, then what that makes ready and worthwhile.
func (h *hoister) emit(i int) {
	h.done[i] = true
	h.order = append(h.order, h.nodes[i])
	for _, r := range h.readers[i] {
		h.waits[r]--
		if h.waits[r] == 0 && h.frees[r] && !h.done[r] && (i >= h.forward || r < h.forward) {
			h.emit(r)
		}
	}
}
