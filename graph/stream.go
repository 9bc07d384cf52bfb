package graph

import (
	"maps"
	"strconv"

	"gomx/op"
)

// StreamAttr names the attribute that numbers the nodes which draw random numbers.
const StreamAttr = "__stream__"

// Streams numbers the nodes that draw random numbers, so that each draws the same ones whatever passes make of the
// graph, and one that is computed again draws them again.
func Streams(outs []op.Entry) []op.Entry {
	r, order := newRewriter(outs, &Facts{})
	next := 0
	for _, n := range order {
		if m := r.keep(n, r.now(n.In)); !n.IsVar() && n.Op.Random {
			c := *m
			c.Attrs = map[string]string{StreamAttr: strconv.Itoa(next)}
			maps.Copy(c.Attrs, n.Attrs)
			next++
			r.nodes[n] = &c
			for i := range n.NumOutputs() {
				r.become(n.Entry(i), c.Entry(i))
			}
		}
	}
	return r.now(outs)
}

// Stream returns the number of a node that draws random numbers.
func Stream(n *op.Node) uint64 {
	v, _ := strconv.ParseUint(n.Attrs[StreamAttr], 10, 32)
	return v
}
