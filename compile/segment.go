package compile

import (
	"gomx/op"
	"gomx/op/prim"
)

// maxSegment is the number of nodes after which a segment is cut in any case.
const maxSegment = 16

// cut divides the steps into segments. A segment begins at the first use of an argument that is
// written from outside, at the first backward step and where the lane changes; it ends at every
// write of a gradient and at every value that another lane waits for. So the last layer's gradient
// can be sent on before the first layer's backward has run, and the first layer can start before the
// last weight has arrived.
//
// Steps that make kept forms of parameters come first in inference and have segments of their own,
// which are pushed only when a parameter has changed.
func cut(u *Unit) {
	p := u.prog
	c := &cutter{u: u, p: p, seen: map[int]bool{}, leaves: u.leaves()}
	for i := range p.Steps {
		c.visit(i)
	}
	c.flush(len(p.Steps))
	if len(p.Steps) == 0 || p.Steps[len(p.Steps)-1].Index < u.draft.forward {
		p.Forward = len(p.Segments)
	}
}

// cutter is the state of cut.
type cutter struct {
	u      *Unit
	p      *Program
	seen   map[int]bool // slots of learned arguments that an earlier step reads
	leaves map[*op.Node]bool
	from   int // first step of the segment that is open
}

// flush ends the open segment before step to.
func (c *cutter) flush(to int) {
	if to > c.from {
		c.p.Segments = append(c.p.Segments, Segment{From: c.from, To: to})
		c.from = to
	}
}

// visit ends segments before and behind step i as its place in the graph asks.
func (c *cutter) visit(i int) {
	p, s, forward := c.p, &c.p.Steps[i], c.u.draft.forward
	if i > 0 {
		last := &p.Steps[i-1]
		if !p.Train && s.Form == nil && last.Form != nil && p.Derived == 0 {
			c.flush(i)
			p.Derived = len(p.Segments)
		}
		if c.leaves[last.Node] || c.u.laneOf(s.Node) != c.u.laneOf(last.Node) {
			c.flush(i)
		}
		if s.Index >= forward && last.Index < forward {
			c.flush(i)
			p.Forward = len(p.Segments)
		}
	}
	if c.u.crosses(s) {
		c.flush(i)
	}
	if s.Index < forward && c.readsNewParam(s) || i-c.from >= maxSegment || c.u.opt.Single {
		c.flush(i)
	}
	if s.Index >= forward && p.writesSlot(s) {
		c.flush(i + 1)
	}
}

// readsNewParam reports whether s is the first to read some argument that is written between runs.
func (c *cutter) readsNewParam(s *Step) bool {
	found := false
	for _, e := range s.Node.In {
		slot, ok := c.p.Outside[c.p.Graph.Entry(e)]
		if ok && c.p.Slots[slot].Learned && !c.seen[slot] {
			c.seen[slot], found = true, true
		}
	}
	return found
}

// writesSlot reports whether s writes an array outside the arena.
func (p *Program) writesSlot(s *Step) bool {
	from, to := p.Graph.Out(s.Index)
	for e := from; e < to; e++ {
		if _, ok := p.Outside[e]; ok {
			return true
		}
	}
	return false
}

// crosses reports whether a step reads a value that another lane computes.
func (u *Unit) crosses(s *Step) bool {
	for _, e := range s.Node.In {
		if u.draft.lanes != nil && !e.Node.IsVar() && u.draft.lanes[e.Node] != u.draft.lanes[s.Node] {
			return true
		}
	}
	return false
}

// leaves marks the nodes that another device, or another lane, waits for.
func (u *Unit) leaves() map[*op.Node]bool {
	set := map[*op.Node]bool{}
	for i := range u.prog.Steps {
		n := u.prog.Steps[i].Node
		if n.Op == prim.CrossDeviceCopy.Op {
			set[n], set[n.In[0].Node] = true, true
		}
		for _, e := range n.In {
			if u.draft.lanes != nil && !e.Node.IsVar() && u.draft.lanes[e.Node] != u.draft.lanes[n] {
				set[e.Node] = true
			}
		}
	}
	return set
}
