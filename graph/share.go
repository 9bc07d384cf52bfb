package graph

import (
	"encoding/binary"
	"math"

	"gomx/op"
)

// ShareComposed makes one node of nodes that compute the same.
func ShareComposed(outs []op.Entry, f *Facts) ([]op.Entry, int) { return share(outs, f, nil) }

// ShareCompiled does so within the forward part and within the backward part. A value that the
// backward part computes again instead of keeping it is there to save memory.
func ShareCompiled(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	return share(outs, f, forwardNodes(outs, f))
}

// forwardNodes returns the nodes of the forward part, nil when all are.
func forwardNodes(outs []op.Entry, f *Facts) map[*op.Node]bool {
	if f.Forward == 0 {
		return nil
	}
	set := map[*op.Node]bool{}
	for _, n := range op.Topo(outs[:f.Forward]) {
		set[n] = true
	}
	return set
}

func share(outs []op.Entry, f *Facts, forward map[*op.Node]bool) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	c := &sharer{rewriter: r, forward: forward, mutated: mutatedNodes(order),
		seen: map[string]*op.Node{}, id: map[*op.Node]uint64{}}
	for _, n := range order {
		c.visit(n)
	}
	return r.now(outs), r.changes
}

// sharer holds the nodes seen so far by keys that are equal for nodes with equal results.
type sharer struct {
	*rewriter
	forward map[*op.Node]bool   // nodes of the forward part; nil: all nodes
	mutated map[*op.Node]bool   // variables that some node changes
	seen    map[string]*op.Node // first new node of each key
	id      map[*op.Node]uint64 // numbers of new nodes, for keys
	key     []byte              // memory that keyOf uses again in each call
}

func (c *sharer) visit(n *op.Node) {
	in := c.now(n.In)
	if n.IsVar() || !c.sharable(n) {
		c.number(c.keep(n, in))
		return
	}
	key := c.keyOf(n, in)
	m := c.seen[key]
	if m == nil || c.isOutput(n) {
		m = c.keep(n, in)
		c.number(m)
		if c.seen[key] == nil {
			c.seen[key] = m
		}
		return
	}
	c.changes++
	c.facts.note(Change{Node: n.Name, Before: describe(n, in), After: m.Name})
	c.nodes[n] = m
	for i := range n.NumOutputs() {
		c.become(n.Entry(i), m.Entry(i))
	}
}

func (c *sharer) number(m *op.Node) {
	if _, ok := c.id[m]; !ok {
		c.id[m] = uint64(len(c.id))
	}
}

// sharable reports whether n gives the same whenever its inputs are the same.
func (c *sharer) sharable(n *op.Node) bool {
	if n.Grad != nil || n.Draws() || len(n.Op.Changes(n.Params)) > 0 || n.Op.Update ||
		len(n.After) > 0 {
		return false
	}
	for _, e := range n.In {
		if c.mutated[e.Node] {
			return false
		}
	}
	return true
}

func (c *sharer) isOutput(n *op.Node) bool {
	for i := range n.NumOutputs() {
		if c.outs[n.Entry(i)] {
			return true
		}
	}
	return false
}

// keyOf encodes operator, parameters, place and inputs of n.
func (c *sharer) keyOf(n *op.Node, in []op.Entry) string {
	b := append(c.key[:0], n.Op.Name...)
	b = append(b, 0)
	b = n.Op.AppendKey(b, n.Params)
	for _, v := range n.Op.AppendRun(nil, n.Params) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	b = append(append(b, 0), n.Attrs[GroupAttr]...)
	if c.forward != nil && !c.forward[n] {
		b = append(b, 1)
	}
	ids := make([][2]uint64, len(in))
	for k, e := range in {
		ids[k] = [2]uint64{c.id[e.Node], uint64(e.Index)}
	}
	if n.Op.Commutes && len(ids) == 2 && (ids[0][0] > ids[1][0] || ids[0][0] == ids[1][0] &&
		ids[0][1] > ids[1][1]) {
		ids[0], ids[1] = ids[1], ids[0]
	}
	b = append(b, 0)
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, id[0]), id[1])
	}
	c.key = b
	return string(b)
}

// mutatedNodes returns the variables that some node changes.
func mutatedNodes(order []*op.Node) map[*op.Node]bool {
	set := map[*op.Node]bool{}
	for _, n := range order {
		if n.IsVar() {
			continue
		}
		for _, k := range n.Op.Changes(n.Params) {
			if k < len(n.In) {
				set[n.In[k].Node] = true
			}
		}
	}
	return set
}
