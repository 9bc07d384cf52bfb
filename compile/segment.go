package compile

import (
	"maps"
	"slices"

	"gomx/device"
	"gomx/memplan"
	"gomx/op"
	"gomx/op/prim"
)

// maxSegment is the number of nodes after which a segment is cut in any case. Longer segments save
// pushes, a microsecond each, and shorter ones can run beside others; MXNet cuts after 15.
const maxSegment = 16

// cut divides the steps into segments. A segment begins at the first use of an argument that is
// written from outside, at the first backward step and where the lane changes; it ends at every
// write of a gradient and at every value that another lane waits for. So the last layer's gradient
// can be sent on before the first layer's backward has run, and the first layer can start before
// the last weight has arrived.
//
// With Target.Whole, segments on queues end for none of these reasons but the lane and the two
// parts: a queue works in order anyway, and a long segment is one recording.
//
// Steps that make kept forms of parameters come first in inference and on queues, and have segments
// of their own, which are pushed only when a parameter has changed.
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
	seen   map[int]bool      // slots of learned arguments that an earlier step reads
	leaves map[*op.Node]bool // nodes that another device or lane waits for
	from   int               // first step of the segment that is open
}

// flush ends the open segment before step to.
func (c *cutter) flush(to int) {
	if to > c.from {
		c.p.Segments = append(c.p.Segments, Segment{From: c.from, To: to})
		c.from = to
	}
}

// visit ends segments before and behind step i as its place in the graph asks. Steps come in order;
// every reason to cut is tested, because later code counts segments of the three parts.
func (c *cutter) visit(i int) {
	p, s, forward := c.p, &c.p.Steps[i], c.u.draft.forward
	if i > 0 {
		last := &p.Steps[i-1]
		if c.u.derivesFirst() && s.Form == nil && last.Form != nil && p.Derived == 0 {
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
	whole := c.u.opt.Target.Whole && c.u.laneOf(s.Node).Queued()
	if c.u.opt.Single || !whole && (s.Index < forward && c.readsNewParam(s) ||
		i-c.from >= maxSegment) {
		c.flush(i)
	}
	if s.Index >= forward && p.writesSlot(s) && !whole {
		c.flush(i + 1)
	}
}

// readsNewParam reports whether s is the first to read some argument that is written between runs.
// A segment that begins there waits for that argument, and the segments before it do not.
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

// writesSlot reports whether s writes an array outside the arena. In the backward part that is a
// gradient or a state, which others wait for.
func (p *Program) writesSlot(s *Step) bool {
	from, to := p.Graph.Out(s.Index)
	for e := from; e < to; e++ {
		if _, ok := p.Outside[e]; ok {
			return true
		}
	}
	return false
}

// crosses reports whether a step reads a value that another lane computes. A segment begins there,
// so that the steps before it need not wait for the other lane.
func (u *Unit) crosses(s *Step) bool {
	for _, e := range s.Node.In {
		if !e.Node.IsVar() && u.draft.lanes[e.Node] != u.draft.lanes[s.Node] {
			return true
		}
	}
	return false
}

// leaves marks the nodes that another device, or another lane, waits for. Their segments end at
// once, or the other side would wait for steps that it does not need.
func (u *Unit) leaves() map[*op.Node]bool {
	set := map[*op.Node]bool{}
	for i := range u.prog.Steps {
		n := u.prog.Steps[i].Node
		if n.Op == prim.CrossDeviceCopy.Op {
			set[n], set[n.In[0].Node] = true, true
		}
		for _, e := range n.In {
			if !e.Node.IsVar() && u.draft.lanes[e.Node] != u.draft.lanes[n] {
				set[e.Node] = true
			}
		}
	}
	return set
}

// connect finds the dependencies of every segment: the segments that compute its inputs, the
// segments whose memory it reuses, and the arrays outside. An executor turns the first two into
// tokens and the third into accesses of the arrays' variables. Edges that follow from others stay:
// a token that is read once more costs less than finding out.
func connect(u *Unit) {
	p := u.prog
	segmentOf := make([]int, len(p.Graph.Nodes))
	for i := range p.Segments {
		for j := p.Segments[i].From; j < p.Segments[i].To; j++ {
			segmentOf[p.Steps[j].Index] = i
		}
	}
	after := make([]map[int]bool, len(p.Segments))
	for i := range p.Segments {
		after[i] = map[int]bool{}
		seg := &p.Segments[i]
		for j := seg.From; j < seg.To; j++ {
			s := &p.Steps[j]
			if !s.Skip {
				seg.Threads = max(seg.Threads, s.Kernel.Threads)
			}
			for _, n := range p.producers(s.Node) {
				if segmentOf[n] != i {
					after[i][segmentOf[n]] = true
				}
			}
			p.useSlots(seg, s)
		}
		seg.Name = p.Steps[seg.From].Node.Name
		if last := p.Steps[seg.To-1].Node.Name; last != seg.Name {
			seg.Name += ".." + last
		}
	}
	for _, h := range p.Memory.Plan.Hazards {
		if a, b := segmentOf[h[0]], segmentOf[h[1]]; a != b {
			after[b][a] = true
		}
	}
	for i := range p.Segments {
		p.Segments[i].Needs = slices.Sorted(maps.Keys(after[i]))
	}
	widen(u)
}

// widen decides which worker runs each segment. It relies on Needs and on Threads. Segments with
// kernels of several threads go to the worker that has such threads; so do others that could not
// run beside a third segment anyway, because handing work from worker to worker and back costs more
// than small kernels take.
func widen(u *Unit) {
	p := u.prog
	order := memplan.NewOrder(len(p.Segments))
	any := false
	for i := range p.Segments {
		seg := &p.Segments[i]
		seg.Lane = u.laneOf(p.Steps[seg.From].Node)
		seg.Wide = seg.Threads > 1 && seg.onHost()
		any = any || seg.Wide
		for _, k := range seg.Needs {
			order.Add(k, i)
		}
	}
	for i := range p.Segments {
		seg := &p.Segments[i]
		if !any || seg.Wide || !seg.onHost() {
			continue
		}
		seg.Wide = true
		for k := range p.Segments {
			if k != i && p.Segments[k].Threads <= 1 && !order.Has(k, i) && !order.Has(i, k) {
				seg.Wide = false
				break
			}
		}
	}
}

// onHost reports whether the workers of the processor run a segment.
func (seg *Segment) onHost() bool { return seg.Lane.Device.Kind == device.KindCPU }

// useSlots records the accesses of step s to arrays outside the arena. Training changes states. In
// inference only updates change them, such as the operators of optimizers.
func (p *Program) useSlots(seg *Segment, s *Step) {
	if s.Skip {
		return
	}
	for k, e := range s.Node.In {
		access := Read
		if s.Node.Mutates(k) && (s.Call.Train || s.Node.Op.Update) {
			access = Update
			if slot, ok := p.Outside[p.Graph.Entry(e)]; ok {
				p.Mutated = append(p.Mutated, slot)
			}
		}
		p.useSlot(seg, e, access)
	}
	from, to := p.Graph.Out(s.Index)
	for e := from; e < to; e++ {
		if slot, ok := p.Outside[p.Memory.Store.Root[e]]; ok {
			seg.use(slot, Overwrite)
		}
	}
}

// useSlot records an access to entry e, if it lives in a slot.
func (p *Program) useSlot(seg *Segment, e op.Entry, access Access) {
	if slot, ok := p.Outside[p.Memory.Store.Root[p.Graph.Entry(e)]]; ok {
		seg.use(slot, access)
	}
}

// use adds an access; an array that is both read and written is updated.
func (seg *Segment) use(slot int, access Access) {
	i := slices.IndexFunc(seg.Uses, func(u Use) bool { return u.Slot == slot })
	switch {
	case i < 0:
		seg.Uses = append(seg.Uses, Use{slot, access})
	case seg.Uses[i].Access != access:
		if seg.Uses[i].Access == Overwrite && access == Read {
			return // the segment reads bytes that it has written itself
		}
		seg.Uses[i].Access = Update
	}
}
