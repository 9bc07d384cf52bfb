package compile

import (
	"maps"
	"slices"

	"gomx/device"
	"gomx/memplan"
	"gomx/op"
)

// connect finds what every segment depends on: the segments that compute its inputs, the segments
// whose memory it reuses, and the arrays outside.
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

// widen decides who runs the segments. Segments with kernels of several threads go to the worker
// that has such threads; so do others that could not run beside a third segment anyway, because
// handing work from worker to worker and back costs more than small kernels take.
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

// useSlots records the accesses of step s to arrays outside the arena.
func (p *Program) useSlots(seg *Segment, s *Step) {
	if s.Skip {
		return
	}
	for k, e := range s.Node.In {
		access := Read
		if s.Node.Mutates(k) && (p.Train || s.Node.Op.Update) {
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
			return // reads what the segment itself has written
		}
		seg.Uses[i].Access = Update
	}
}
