package gluon

import (
	"slices"

	"gomx/compile"
)

// Traces returns how often a hybridized network has been traced, and the number of its graphs.
func Traces(n *Net) (traces, graphs int) {
	h := n.hybrid.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.traces, len(h.graphs)
}

// Calls returns the number of calls that all graphs of a network have memory for.
func Calls(n *Net) (calls int) {
	h := n.hybrid.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.graphs {
		calls += c.fn.Executors()
	}
	return calls
}

// Memory returns the memory of the graph that was called last.
func Memory(n *Net) compile.MemoryUse { return n.hybrid.Load().last.Load().fn.MemoryUse() }

// Wanted returns the positions of the arguments whose gradients the graph that was called last
// computes.
func Wanted(n *Net) []int { return n.hybrid.Load().last.Load().args }

// GroupOf returns the ranks of the workers of an elastic loop.
func GroupOf(e *Elastic) []int { return slices.Clone(e.group.Ranks) }
