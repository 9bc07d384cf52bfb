package symbol

import (
	"slices"

	"gomx/device"
	"gomx/engine"
	"gomx/memplan"
	"gomx/op"
)

// maxSegment is the number of nodes after which a segment is cut in any case.
const maxSegment = 16

// segment is a run of steps that the engine executes as one operation.
type segment struct {
	number   int
	from, to int // steps
	name     string
	lane     engine.Lane
	threads  int   // the most that a kernel uses
	wide     bool  // goes to the worker of kernels that use several threads
	needs    []int // segments whose results or whose memory it uses
	slots    []slotUse
}

// slotUse is what a segment does with an array outside the arena.
type slotUse struct {
	slot   int
	access engine.Access
}

// cut divides the steps into segments. A segment begins at the first use of an argument that is
// written from outside, at the first backward step and where the device changes; it ends at every write of a gradient and at
// every value that another device or lane waits for. So
// the last layer's gradient can be sent on before the first layer's backward has run, and the
// first layer can start before the last weight has arrived.
//
// Steps that make kept forms of parameters come first in inference and have segments of their own,
// which are pushed only when a parameter has changed.
func (p *program) cut(forward int) {
	seen, leaves := map[int]bool{}, p.leaves()
	from := 0
	flush := func(to int) {
		if to > from {
			p.segments = append(p.segments, segment{number: len(p.segments), from: from, to: to})
			from = to
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if !p.train && i > 0 && s.keep == nil && p.steps[i-1].keep != nil && p.derived == 0 {
			flush(i)
			p.derived = len(p.segments)
		}
		if i > 0 && (leaves[p.steps[i-1].node] || p.laneOf(s.node) != p.laneOf(p.steps[i-1].node)) {
			flush(i)
		}
		if i > 0 && s.index >= forward && p.steps[i-1].index < forward {
			flush(i)
			p.forward = len(p.segments)
		}
		if p.crosses(s) {
			flush(i)
		}
		if s.index < forward && p.readsNewParam(s, seen) || i-from >= maxSegment || p.single {
			flush(i)
		}
		if s.index >= forward && p.writesSlot(s) {
			flush(i + 1)
		}
	}
	flush(len(p.steps))
	if len(p.steps) == 0 || p.steps[len(p.steps)-1].index < forward {
		p.forward = len(p.segments)
	}
}

// readsNewParam reports whether s is the first to read some argument that is written between runs.
func (p *program) readsNewParam(s *step, seen map[int]bool) bool {
	found := false
	for _, e := range s.node.In {
		slot, ok := p.slotOf[p.g.Entry(e)]
		if ok && p.slots[slot].param && !seen[slot] {
			seen[slot], found = true, true
		}
	}
	return found
}

// writesSlot reports whether s writes an array outside the arena.
func (p *program) writesSlot(s *step) bool {
	from, to := p.g.Out(s.index)
	for e := from; e < to; e++ {
		if _, ok := p.slotOf[e]; ok {
			return true
		}
	}
	return false
}

// connect finds what every segment depends on: the segments that compute its inputs, those whose
// memory it reuses, and the arrays outside.
func (p *program) connect() {
	segmentOf := make([]int, len(p.g.Nodes))
	for i := range p.segments {
		seg := &p.segments[i]
		for j := seg.from; j < seg.to; j++ {
			segmentOf[p.steps[j].index] = i
		}
	}
	after := make([]map[int]bool, len(p.segments))
	for i := range p.segments {
		after[i] = map[int]bool{}
		seg := &p.segments[i]
		for j := seg.from; j < seg.to; j++ {
			s := &p.steps[j]
			if !s.skip {
				seg.threads = max(seg.threads, s.kernel.Threads)
			}
			for _, e := range s.node.In {
				if n, _ := p.g.Node(e.Node); !e.Node.IsVar() && segmentOf[n] != i {
					after[i][segmentOf[n]] = true
				}
			}
			for _, a := range s.node.After {
				if n, ok := p.g.Node(a); ok && !a.IsVar() && segmentOf[n] != i {
					after[i][segmentOf[n]] = true
				}
			}
			p.useSlots(seg, s)
		}
		seg.name = p.steps[seg.from].node.Name
		if last := p.steps[seg.to-1].node.Name; last != seg.name {
			seg.name += ".." + last
		}
	}
	for _, h := range p.plan.Hazards {
		if a, b := segmentOf[h[0]], segmentOf[h[1]]; a != b {
			after[b][a] = true
		}
	}
	for i := range p.segments {
		for a := range p.segments {
			if after[i][a] {
				p.segments[i].needs = append(p.segments[i].needs, a)
			}
		}
	}
	p.widen()
}

// widen decides who runs the segments. Those with kernels of several threads go to the worker that
// has such threads; so do others that could not run beside a third segment anyway, because handing
// work from worker to worker and back costs more than small kernels take.
func (p *program) widen() {
	order := memplan.NewOrder(len(p.segments))
	any := false
	for i := range p.segments {
		seg := &p.segments[i]
		seg.lane = p.laneOf(p.steps[seg.from].node)
		seg.wide = seg.threads > 1 && p.onHost(seg)
		any = any || seg.wide
		for _, k := range seg.needs {
			order.Add(k, i)
		}
	}
	for i := range p.segments {
		seg := &p.segments[i]
		if !any || seg.wide || !p.onHost(seg) {
			continue
		}
		seg.wide = true
		for k := range p.segments {
			if k != i && p.segments[k].threads <= 1 && !order.Has(k, i) && !order.Has(i, k) {
				seg.wide = false
				break
			}
		}
	}
}

// onHost reports whether the workers of the processor run a segment.
func (p *program) onHost(seg *segment) bool { return seg.lane.Device.Kind == device.KindCPU }

// useSlots records what step s does with arrays outside the arena.
func (p *program) useSlots(seg *segment, s *step) {
	if s.skip {
		return
	}
	for k, e := range s.node.In {
		access := engine.Read
		if s.node.Mutates(k) && (p.train || s.node.Op.Update) {
			access = engine.Update
			if slot, ok := p.slotOf[p.g.Entry(e)]; ok {
				p.mutated = append(p.mutated, slot)
			}
		}
		p.useSlot(seg, e, access)
	}
	from, to := p.g.Out(s.index)
	for e := from; e < to; e++ {
		if slot, ok := p.slotOf[p.store.Root[e]]; ok {
			seg.use(slot, engine.Overwrite)
		}
	}
}

func (p *program) useSlot(seg *segment, e op.Entry, access engine.Access) {
	if slot, ok := p.slotOf[p.store.Root[p.g.Entry(e)]]; ok {
		seg.use(slot, access)
	}
}

// use adds an access; whatever is both read and written is updated.
func (seg *segment) use(slot int, access engine.Access) {
	i := slices.IndexFunc(seg.slots, func(u slotUse) bool { return u.slot == slot })
	switch {
	case i < 0:
		seg.slots = append(seg.slots, slotUse{slot, access})
	case seg.slots[i].access != access:
		if seg.slots[i].access == engine.Overwrite && access == engine.Read {
			return // reads what the segment itself has written
		}
		seg.slots[i].access = engine.Update
	}
}
