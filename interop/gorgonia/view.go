package gorgonia

import (
	"errors"
	"fmt"

	G "gorgonia.org/gorgonia"
)

// view is the part of a graph that some of its nodes depend on.
type view struct {
	graph *G.ExprGraph
}

// viewOf returns the graph of the nodes that out depends on. The nodes' original graph cannot be
// used: when Gorgonia replaces a node by a numerically better one it removes the old node, and from
// then on finds wrong nodes by their numbers.
func viewOf(out []*G.Node) (view, error) {
	if len(out) == 0 {
		return view{}, errors.New("gorgonia: no nodes, want at least one")
	}
	for i, n := range out {
		switch {
		case n == nil:
			return view{}, fmt.Errorf("gorgonia: node %d of %d is nil", i, len(out))
		case n.Graph() == nil || n.Graph() != out[0].Graph():
			return view{}, blame(n, errors.New("is not in the graph of the first node"))
		}
	}
	return view{out[0].Graph().ExactSubgraphRoots(out...)}, nil
}

// operands returns the operands of n, in order.
func (v view) operands(n *G.Node) []*G.Node {
	it := v.graph.From(n.ID())
	if it == nil {
		return nil
	}
	var list []*G.Node
	for it.Next() {
		list = append(list, it.Node().(*G.Node))
	}
	return list
}
