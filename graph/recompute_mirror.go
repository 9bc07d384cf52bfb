package graph

import (
	"strings"

	"gomx/op"
	"gomx/op/prim"
)

// mirror rewrites the backward part of a graph so that it computes again the forward values that
// are not kept.
type mirror struct {
	r      *recomputer
	origin map[*op.Node]*op.Node // for every node made, the old node that it stands for
	keep   []bool                // by number of forward node: its results are kept
	again  map[*op.Node]*op.Node // for a forward node, the node that computes it again
	made   map[*op.Node]*op.Node // for a backward node, the node in its place
	after  []*op.Node            // nodes that the nodes of the running visit must wait for
}

// now returns the node in the place of n: n itself if it did not change.
func (m *mirror) now(n *op.Node) *op.Node {
	if b, ok := m.made[n]; ok {
		return b
	}
	return n
}

// visit rewrites backward node b; the backward nodes that b reads must have been visited. If b is
// the first reader of a forward value that is not kept, the value is computed again only when the
// gradients that b reads have been computed.
func (m *mirror) visit(b *op.Node) {
	m.after = m.after[:0:0]
	for _, e := range b.In {
		if _, forward := m.r.id[e.Node]; !forward && !e.Node.IsVar() {
			m.after = append(m.after, m.now(e.Node))
		}
	}
	in, changed := make([]op.Entry, len(b.In)), false
	for k, e := range b.In {
		in[k] = e
		if !ignores(b, k) {
			in[k] = m.entry(e)
		}
		changed = changed || in[k] != e
	}
	if !changed {
		return
	}
	c := *b
	c.In = in
	m.made[b], m.origin[&c] = &c, b
}

// entry returns the entry that the backward part reads in the place of e.
func (m *mirror) entry(e op.Entry) op.Entry {
	i, forward := m.r.id[e.Node]
	switch {
	case !forward:
		return op.Entry{Node: m.now(e.Node), Index: e.Index}
	case m.keep[i]:
		return e
	}
	return op.Entry{Node: m.second(e.Node), Index: e.Index}
}

// second returns the node that computes the values of forward node n again.
func (m *mirror) second(n *op.Node) *op.Node {
	if c, ok := m.again[n]; ok {
		return c
	}
	c := *n
	c.Name, c.In, c.After = n.Name+"_again", make([]op.Entry, len(n.In)), m.after
	c.Turn = 0
	for k, e := range n.In {
		switch {
		case n.Mutates(k) && !reads(n):
			c.In[k] = m.state(e)
		case ignores(n, k):
			c.In[k] = e
		default:
			c.In[k] = m.entry(e)
		}
	}
	m.again[n], m.origin[&c] = &c, n
	return &c
}

// reads reports whether a node that has auxiliary states reads them in training and leaves them
// alone.
func reads(n *op.Node) bool {
	return strings.EqualFold(n.Op.FormatParams(n.Params)["use_global_stats"], "true")
}

// state returns a stand-in for an auxiliary state, which a node that is computed again may change.
func (m *mirror) state(e op.Entry) op.Entry {
	z, err := op.NewNode(prim.ZerosLike.Op, e.Node.Name+"_again", nil, e)
	if err != nil {
		panic(err)
	}
	z.After = m.after
	m.origin[z] = e.Node
	return z.Entry(0)
}
