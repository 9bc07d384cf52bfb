package graph

import (
	"fmt"
	"slices"
	"strings"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// The largest numbers of inputs, outputs and steps of a chain; kernels keep all of its values in
// the cache.
const (
	chainInputs  = 16
	chainOutputs = 8
	chainSteps   = 40
)

// FusePointwise joins pointwise operators that read each other into chains.
//
// It goes through the nodes in an order in which pointwise ones come as soon as they can, and lets
// each join the chains that it reads. A chain runs in the place of its last member. So it may grow
// only while no node outside has read it: then all outside readers come after the chain, and all
// nodes that the chain reads come before it.
func FusePointwise(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	r, order := newRewriter(outs, f)
	c := &chainer{rewriter: r, forward: forwardNodes(outs, f), mutated: mutatedNodes(order),
		chain: map[*op.Node]*chain{}, after: map[*op.Node]bool{}, at: map[*op.Node]int{}}
	for _, n := range order {
		for _, a := range n.After {
			c.after[a] = true
		}
	}
	order = c.eager(order)
	for i, n := range order {
		c.at[n] = i
	}
	for _, n := range order {
		c.join(n)
	}
	for _, n := range order {
		c.emit(n)
	}
	return c.now(outs), c.changes
}

// chainer is the state of FusePointwise.
type chainer struct {
	*rewriter
	forward map[*op.Node]bool   // nodes of the forward part; nil: all nodes
	mutated map[*op.Node]bool   // variables that some node changes
	after   map[*op.Node]bool   // nodes that are control dependencies of others
	chain   map[*op.Node]*chain // the chain of a member
	at      map[*op.Node]int    // position in the order of eager
}

// chain is a list of pointwise operators that become one node.
type chain struct {
	shape   dtype.Shape      // shape of the results of all members
	t       dtype.Type       // element type of the first member's result
	forward bool             // its members belong to the forward part
	group   string           // group of all members; empty: none
	mirror  string           // request of all members to be computed again; empty: none
	closed  bool             // a node outside has read it, so it must not grow
	members []*op.Node       // in an order in which each comes after its inputs
	inside  map[op.Entry]int // number of readers of an entry among the members
}

// eager orders nodes anew: forward ones first, pointwise ones as early as their inputs allow.
func (c *chainer) eager(order []*op.Node) []*op.Node {
	waits, readers := map[*op.Node]int{}, map[*op.Node][]*op.Node{}
	for _, n := range order {
		waits[n] = len(n.In) + len(n.After)
		for _, e := range n.In {
			readers[e.Node] = append(readers[e.Node], n)
		}
		for _, a := range n.After {
			readers[a] = append(readers[a], n)
		}
	}
	list, done := make([]*op.Node, 0, len(order)), map[*op.Node]bool{}
	var run func(n *op.Node)
	run = func(n *op.Node) {
		done[n] = true
		list = append(list, n)
		for _, m := range readers[n] {
			if waits[m]--; waits[m] == 0 && !done[m] && c.fusible(m) && c.phase(m) == c.phase(n) {
				run(m)
			}
		}
	}
	for _, forward := range []bool{true, false} {
		for _, n := range order {
			if c.phase(n) == forward && !done[n] {
				run(n)
			}
		}
	}
	return list
}

func (c *chainer) phase(n *op.Node) bool { return c.forward == nil || c.forward[n] }

// mirror returns the request of a forward node to be computed again by the backward part. A chain is
// computed again as a whole, so members with another request do not join it.
func (c *chainer) mirror(n *op.Node) string {
	if !c.forward[n] {
		return ""
	}
	return n.Attrs[MirrorAttr]
}

// fusible reports whether n may be a member of a chain. Sums of many gradients, which are added as
// they come, may not: a chain would keep them all until the last is there.
func (c *chainer) fusible(n *op.Node) bool {
	if n.IsVar() || n.Draws() || len(n.After) > 0 || c.after[n] || !n.Op.Pointwise &&
		!prim.IsCast(n.Op) || n.Op == prim.GradAdd.Op {
		return false
	}
	out := n.Entry(0)
	shape, t := c.facts.Shapes[out], c.facts.Types[out]
	if !c.facts.Known(out) || shape.Size() == 0 || len(shape) == 0 ||
		!prim.Fusible(c.facts.kind(n), t, n.Op, n.Params, len(n.In)) {
		return false
	}
	for _, e := range n.In {
		if !c.facts.Known(e) || c.mutated[e.Node] {
			return false
		}
		if from := c.facts.Types[e]; from != t && !(prim.IsCast(n.Op) &&
			prim.FusibleTypes(c.facts.kind(n), from, t)) {
			return false
		}
		if s := c.facts.Shapes[e]; !s.Equal(shape) {
			if _, _, ok := prim.Repeats(s, shape); !ok || !n.Op.Broadcasts {
				return false
			}
		}
	}
	return true
}

// join puts n into the chains that it reads, or begins one.
func (c *chainer) join(n *op.Node) {
	if !c.fusible(n) {
		c.close(n, nil)
		return
	}
	g := &chain{shape: c.facts.Shapes[n.Entry(0)], t: c.facts.Types[n.Entry(0)],
		forward: c.phase(n), group: n.Attrs[GroupAttr], mirror: c.mirror(n),
		members: []*op.Node{n}, inside: map[op.Entry]int{}}
	for _, e := range n.In {
		g.inside[e]++
	}
	for _, e := range n.In {
		h := c.chain[e.Node]
		if h == nil || h.closed || slices.Contains(g.members, e.Node) || h.forward != g.forward ||
			h.group != g.group || h.mirror != g.mirror || !prim.FusibleTypes(c.facts.kind(n), h.t, g.t) ||
			!h.shape.Equal(g.shape) {
			continue
		}
		if both := h.union(g); c.fits(both) {
			g = both
		}
	}
	for _, m := range g.members {
		c.chain[m] = g
	}
	c.close(n, g)
}

// close marks the chains that n reads from outside.
func (c *chainer) close(n *op.Node, own *chain) {
	for _, e := range n.In {
		if h := c.chain[e.Node]; h != nil && h != own {
			h.closed = true
		}
	}
}

// union returns the chain of all members of both, in an order in which each comes after its inputs.
func (g *chain) union(h *chain) *chain {
	u := &chain{shape: g.shape, t: g.t, forward: g.forward, group: g.group, mirror: g.mirror,
		members: slices.Concat(g.members, h.members), inside: map[op.Entry]int{}}
	for _, c := range []*chain{g, h} {
		for e, n := range c.inside {
			u.inside[e] += n
		}
	}
	return u
}

// fits reports whether a kernel takes chain g.
func (c *chainer) fits(g *chain) bool {
	in, outs := c.borders(g)
	steps := 0
	for _, m := range g.members {
		steps += max(1, len(m.In)-1)
	}
	return len(in) <= chainInputs && len(outs) <= chainOutputs && steps <= chainSteps &&
		!c.crosses(in, outs)
}

// crosses reports whether an input that repeats has as many bytes as an output of a narrower type,
// which could take its place before it has been read.
func (c *chainer) crosses(in, outs []op.Entry) bool {
	bytes := func(e op.Entry) int { return c.facts.Shapes[e].Size() * c.facts.Types[e].Size() }
	return slices.ContainsFunc(in, func(i op.Entry) bool {
		return slices.ContainsFunc(outs, func(o op.Entry) bool {
			return bytes(i) == bytes(o) && c.facts.Types[i].Size() != c.facts.Types[o].Size()
		})
	})
}

// borders lists the entries that a chain reads from outside, and the entries of the chain that
// nodes outside read. Inputs made by the backward part come first, the oldest in front: each output
// takes the memory of the first input that fits, and an input made by the forward part does not fit
// an output that is a gradient in an array of the executor.
func (c *chainer) borders(g *chain) (in, outs []op.Entry) {
	for _, m := range g.members {
		for _, e := range m.In {
			if !slices.Contains(g.members, e.Node) && !slices.Contains(in, e) {
				in = append(in, e)
			}
		}
		if e := m.Entry(0); c.uses[e] > g.inside[e] {
			outs = append(outs, e)
		}
	}
	slices.SortStableFunc(in, func(a, b op.Entry) int { return c.rank(a) - c.rank(b) })
	return in, outs
}

// rank orders entries: entries of the backward part by age, then the others.
func (c *chainer) rank(e op.Entry) int {
	if e.Node.IsVar() || c.phase(e.Node) {
		return len(c.at)
	}
	return c.at[e.Node]
}

// emit writes n, or the chain of which it is the last member.
func (c *chainer) emit(n *op.Node) {
	g := c.chain[n]
	if g == nil || len(g.members) < 2 {
		c.keep(n, c.now(n.In))
		return
	}
	if n != g.members[len(g.members)-1] {
		return
	}
	in, outs := c.borders(g)
	p := &prim.Chain{Inputs: len(in)}
	number := map[op.Entry]int{}
	for i, e := range in {
		number[e] = i
	}
	for i, m := range g.members {
		step := prim.ChainStep{Op: m.Op, Params: m.Params}
		for _, e := range m.In {
			step.Args = append(step.Args, number[e])
		}
		p.Steps = append(p.Steps, step)
		number[m.Entry(0)] = len(in) + i
	}
	for _, e := range outs {
		p.Outs = append(p.Outs, number[e])
	}
	fused := prim.FusedPointwise.Node(p.Params(), c.now(in)...)
	first := g.members[0]
	fused.Name, fused.Attrs, fused.Site = first.Name+".."+n.Name, first.Attrs, n.Site
	for i, e := range outs {
		c.become(e, fused.Entry(i))
	}
	names := make([]string, len(g.members))
	for i, m := range g.members {
		c.nodes[m] = fused
		names[i] = m.Op.Name
	}
	c.changes++
	c.facts.note(Change{Node: fused.Name, Before: strings.Join(names, ", "),
		After: fmt.Sprintf("%s of %d inputs and %d outputs", fused.Op.Name, len(in), len(outs))})
}
