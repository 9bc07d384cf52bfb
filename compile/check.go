package compile

import (
	"fmt"
	"slices"

	"gomx/dtype"
	"gomx/graph"
	"gomx/memplan"
)

// Check verifies the invariants of a program, which the package lists: it replays all steps in
// order on bytes that know the value that they hold. It uses no result of the planner but offsets,
// and answers the first fault with the names of nodes. It does not change the program.
func (p *Program) Check() error {
	for _, f := range []func() error{p.checkFacts, p.checkOperands, p.checkSegments, p.checkOrder} {
		if err := f(); err != nil {
			return fmt.Errorf("compile: invariant broken: %w", err)
		}
	}
	r := newReplay(p)
	for i := range p.Steps {
		if err := r.step(&p.Steps[i]); err != nil {
			return fmt.Errorf("compile: invariant broken: step %d (%s): %w", i,
				p.Steps[i].Node.Name, err)
		}
	}
	return nil
}

// checkFacts compares the descriptions of all entries with inference, node by node. Inference fills
// in nothing, as all are known, so it fails exactly where an operator contradicts a description.
func (p *Program) checkFacts() error {
	shapes, types := make([]dtype.Shape, len(p.Descs)), make([]dtype.Type, len(p.Descs))
	for e, d := range p.Descs {
		shapes[e], types[e] = d.Shape.Clone(), d.DType
	}
	if err := graph.InferShapes(p.Graph, shapes); err != nil {
		return err
	}
	return graph.InferTypes(p.Graph, types)
}

// checkOperands demands that each tensor that a step works on lies in its slot or its room.
func (p *Program) checkOperands() error {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Skip {
			continue
		}
		for _, o := range slices.Concat(s.External, s.Internal) {
			bytes := int64(o.Of(&s.Call).Bytes)
			var room int64
			if slices.Contains(s.External, o) {
				room = int64(p.Slots[o.Slot].Desc.Bytes)
			} else {
				room = p.Memory.Rooms[o.Room].Bytes
			}
			if o.Offset < 0 || o.Offset+bytes > room {
				return fmt.Errorf("%s uses bytes %d to %d of %d", s.Node.Name, o.Offset,
					o.Offset+bytes, room)
			}
		}
		if n := len(s.External) + len(s.Internal); n < p.operands(s) {
			return fmt.Errorf("%s has %d operands with a place, want %d", s.Node.Name, n,
				p.operands(s))
		}
		if end := s.Scratch + int64(s.Kernel.Scratch); s.Kernel.Scratch > 0 &&
			(s.Scratch < 0 || end > p.Memory.Rooms[s.Room].Bytes) {
			return fmt.Errorf("scratch memory of %s ends at %d, its room at %d", s.Node.Name, end,
				p.Memory.Rooms[s.Room].Bytes)
		}
	}
	return nil
}

// operands counts the tensors of a step that have bytes and are read or written: each needs a
// place.
func (p *Program) operands(s *Step) (n int) {
	for k := range s.Call.In {
		if !ignores(s.Node, k) && s.Call.In[k].Bytes > 0 {
			n++
		}
	}
	for _, t := range s.Call.Out {
		if t.Bytes > 0 {
			n++
		}
	}
	return n
}

// checkSegments demands that segments cover the steps in order, wait only for earlier ones, and
// declare all slots that their steps use. The engine orders segments by these accesses alone, so an
// operand without one would be read while others write it.
func (p *Program) checkSegments() error {
	next := 0
	for i := range p.Segments {
		seg := &p.Segments[i]
		if seg.From != next || seg.To <= seg.From {
			return fmt.Errorf("segment %d has steps %d to %d, want them from %d on", i, seg.From,
				seg.To, next)
		}
		next = seg.To
		for _, k := range seg.Needs {
			if k < 0 || k >= i {
				return fmt.Errorf("segment %d waits for segment %d", i, k)
			}
		}
		for j := seg.From; j < seg.To; j++ {
			for _, o := range p.Steps[j].External {
				if err := seg.declares(o); err != nil {
					return fmt.Errorf("segment %d, step %s: %w", i, p.Steps[j].Node.Name, err)
				}
			}
		}
	}
	if next != len(p.Steps) || p.Derived > p.Forward || p.Forward > len(p.Segments) {
		return fmt.Errorf("%d of %d steps in segments, %d make forms, %d of %d belong to the "+
			"forward part", next, len(p.Steps), p.Derived, p.Forward, len(p.Segments))
	}
	return nil
}

// declares demands that the segment has an access for an operand in a slot.
func (seg *Segment) declares(o Operand) error {
	i := slices.IndexFunc(seg.Uses, func(u Use) bool { return u.Slot == o.Slot })
	if i < 0 || o.Out && seg.Uses[i].Access == Read {
		return fmt.Errorf("slot %d is used without its access", o.Slot)
	}
	return nil
}

// span is a range of bytes in a room that a step uses, from included and to not.
type span struct {
	segment, room int
	from, to      int64  // offsets in the room
	writes        bool   // else the step only reads
	name          string // of the step, for errors
}

// spans lists the bytes that the steps use, in their order.
func (p *Program) spans() (list []span) {
	for k := range p.Segments {
		for i := p.Segments[k].From; i < p.Segments[k].To; i++ {
			s := &p.Steps[i]
			if s.Skip {
				continue
			}
			for _, o := range s.Internal {
				list = append(list, span{k, o.Room, o.Offset, o.Offset + int64(o.Of(&s.Call).Bytes),
					o.Out, s.Node.Name})
			}
			if s.Kernel.Scratch > 0 {
				list = append(list, span{k, s.Room, s.Scratch, s.Scratch + int64(s.Kernel.Scratch),
					true, s.Node.Name})
			}
		}
	}
	return list
}

// checkOrder demands that segments wait for each other where they use the same bytes and one of
// them writes. It compares all pairs of uses, which takes time in the square of their number.
func (p *Program) checkOrder() error {
	order := memplan.NewOrder(len(p.Segments))
	for i := range p.Segments {
		for _, k := range p.Segments[i].Needs {
			order.Add(k, i)
		}
	}
	list := p.spans()
	for j, b := range list {
		for _, a := range list[:j] {
			meet := a.room == b.room && a.from < b.to && b.from < a.to && (a.writes || b.writes)
			if meet && a.segment != b.segment && !order.Has(a.segment, b.segment) {
				return fmt.Errorf("%s in segment %d and %s in segment %d share bytes without order",
					a.name, a.segment, b.name, b.segment)
			}
		}
	}
	return nil
}

// replay is a run of a program on memory that knows the values it holds. It goes through the steps
// in their order; checkOrder shows that every order which segments allow reads the same bytes.
type replay struct {
	p       *Program
	holds   map[memory][]int // values, by entry, that memory holds under several names
	pending []int            // by entry: reads that are still to come
}

// memory is a slot, or a buffer of the plan. Values of one buffer follow each other in place.
type memory struct {
	slot   bool
	number int // position in Slots, or in Memory.Buffers
}

// newReplay begins a run: slots hold their variables, and all reads are to come.
func newReplay(p *Program) *replay {
	r := &replay{p: p, holds: map[memory][]int{}, pending: make([]int, p.Graph.NumEntries())}
	for i, n := range p.Graph.Nodes {
		if e, _ := p.Graph.Out(i); n.IsVar() {
			if m, ok := r.memoryOf(e); ok {
				r.holds[m] = append(r.holds[m], e)
			}
		}
	}
	for i := range p.Steps {
		r.reads(&p.Steps[i], func(e int) { r.pending[e]++ })
	}
	return r
}

// memoryOf returns the memory of an entry; ok is false for entries without any.
func (r *replay) memoryOf(e int) (m memory, ok bool) {
	root := r.p.Memory.Store.Root[e]
	if slot, ok := r.p.Outside[root]; ok {
		return memory{true, slot}, true
	}
	b, ok := r.p.Memory.BufferOf[root]
	return memory{false, b}, ok
}

// reads calls f for every entry whose content a step reads.
func (r *replay) reads(s *Step, f func(e int)) {
	for k, e := range s.Node.In {
		if !s.Skip && !ignores(s.Node, k) && s.Call.In[k].Bytes > 0 {
			f(r.p.Graph.Entry(e))
		}
	}
}

// step replays one step: first its reads, then its scratch memory, then its writes. Scratch memory
// counts as overwritten before the inputs have been read, because a kernel uses it meanwhile.
func (r *replay) step(s *Step) (err error) {
	from, to := r.p.Graph.Out(s.Index)
	if s.Skip {
		if !s.Dead {
			r.rename(r.p.Graph.Entry(s.Node.In[0]), from)
		}
		return nil
	}
	r.reads(s, func(e int) {
		m, ok := r.memoryOf(e)
		if !ok || !slices.Contains(r.holds[m], e) {
			err = fmt.Errorf("reads entry %d, which its memory does not hold", e)
		}
	})
	if err != nil {
		return err
	}
	if s.Scratch >= 0 {
		if err := r.overwrite(s.Room, s.Scratch, int64(s.Kernel.Scratch), noBuffer); err != nil {
			return err
		}
	}
	r.reads(s, func(e int) { r.pending[e]-- })
	for e := from; e < to; e++ {
		if m, ok := r.memoryOf(e); ok && s.Call.Out[e-from].Bytes > 0 {
			if err := r.write(m, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// rename gives the content of entry e another name. Content that memory has lost gets none, and the
// next reader of the name reports that.
func (r *replay) rename(e, as int) {
	if m, ok := r.memoryOf(e); ok && slices.Contains(r.holds[m], e) {
		r.holds[m] = append(r.holds[m], as)
	}
}

// write puts entry e into memory m. The values that m held are gone, so none of them may have a
// read to come, under any of its names.
func (r *replay) write(m memory, e int) error {
	for _, old := range r.holds[m] {
		if r.pending[old] > 0 {
			return fmt.Errorf("writes entry %d where entry %d has %d reads to come", e, old,
				r.pending[old])
		}
	}
	if !m.slot {
		b := &r.p.Memory.Buffers[m.number]
		if err := r.overwrite(b.Lane, r.p.Memory.offset(m.number), b.Bytes, m.number); err != nil {
			return err
		}
	}
	r.holds[m] = []int{e}
	return nil
}

// noBuffer stands for bytes that belong to no buffer.
const noBuffer = -1

// overwrite forgets the content of all buffers that a range of bytes meets, but for one buffer.
func (r *replay) overwrite(room int, from, bytes int64, but int) error {
	for m, entries := range r.holds {
		if m.slot || m.number == but || r.p.Memory.Buffers[m.number].Lane != room {
			continue
		}
		start := r.p.Memory.offset(m.number)
		if start >= from+bytes || from >= start+r.p.Memory.Buffers[m.number].Bytes {
			continue
		}
		for _, e := range entries {
			if r.pending[e] > 0 {
				return fmt.Errorf("overwrites entry %d, which has %d reads to come", e,
					r.pending[e])
			}
		}
		delete(r.holds, m)
	}
	return nil
}
