package graph

import (
	"maps"
	"strconv"

	"gomx/op"
)

// streamAttr names the attribute that numbers the nodes which draw random numbers.
const streamAttr = "__stream__"

// Streams numbers the nodes that draw random numbers, so that each draws the same random numbers
// before and after other passes, and draws them again when it is computed again. It returns the new
// outputs and the number of such nodes.
func Streams(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	next := 0
	for _, n := range order {
		if m := r.keep(n, r.now(n.In)); !n.IsVar() && n.Op.Random {
			c := *m
			c.Attrs = map[string]string{streamAttr: strconv.Itoa(next)}
			maps.Copy(c.Attrs, n.Attrs)
			next++
			r.nodes[n] = &c
			for i := range n.NumOutputs() {
				r.become(n.Entry(i), c.Entry(i))
			}
		}
	}
	return r.now(outs), next
}

// SetStream gives a node that draws random numbers the number of its stream; Streams keeps it. The
// node must not belong to a graph that is in use.
func SetStream(n *op.Node, stream int) {
	attrs := map[string]string{}
	maps.Copy(attrs, n.Attrs)
	attrs[streamAttr] = strconv.Itoa(stream)
	n.Attrs = attrs
}

// Stream returns the number of a node that draws random numbers.
func Stream(n *op.Node) uint64 {
	v, _ := strconv.ParseUint(n.Attrs[streamAttr], 10, 32)
	return v
}

// HasStream reports whether a node has the number of a stream.
func HasStream(n *op.Node) bool { return n.Attrs[streamAttr] != "" }
