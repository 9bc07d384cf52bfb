package gorgonia

import (
	"errors"
	"fmt"

	G "gorgonia.org/gorgonia"
)

// view is the part of a graph that some of its nodes are computed from.
type view struct {
	graph *G.ExprGraph
}

// viewOf makes a graph of what out is computed from. Asking the graph that the nodes were made in
// will not do: where Gorgonia has replaced a node by one that is better numerically it takes the
// old one out, and from then on finds wrong nodes by their numbers.
func viewOf(out []*G.Node) (view, error) {
	if len(out) == 0 {
		return view{}, errors.New("gorgonia: no nodes are given")
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

// operands returns the nodes that n is computed from, in order.
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
