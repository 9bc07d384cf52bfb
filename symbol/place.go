package symbol

import (
	"fmt"
	"slices"

	"gomx/graph"
	"gomx/memplan"
	"gomx/op"
)

// place decides what shares memory, plans the arena, and tells every step where its operands are.
// The first forward nodes are the forward part.
func (p *program) place(forward int) error {
	places := make([]graph.Place, p.g.NumEntries())
	for e, s := range p.slotOf {
		if places[e] = graph.Source; p.slots[s].sink {
			places[e] = graph.Sink
		}
	}
	bytes, apart := make([]int64, p.g.NumEntries()), make([]bool, len(p.g.Nodes))
	for e := range bytes {
		bytes[e] = int64(p.desc(e).Bytes)
	}
	for i := range p.steps {
		s := &p.steps[i]
		from, _ := p.g.Out(s.index)
		apart[s.index] = s.kernel.Apart
		for j := range s.call.Out {
			bytes[from+j] = int64(s.call.Out[j].Bytes)
		}
	}
	p.store = graph.AssignStorage(p.g, places, bytes, forward, apart)
	buffers, bufferOf, scratchOf := p.buffers()
	p.buffered = buffers
	var err error
	steps := p.planSteps(bufferOf, scratchOf)
	if p.plan, err = memplan.Compute(buffers, steps, p.planConfig()); err != nil {
		return fmt.Errorf("symbol: planning memory: %w", err)
	}
	p.makeRooms()
	if p.ex.config.Guard || p.ex.config.Monitor != nil {
		if err := memplan.Verify(buffers, steps, p.plan); err != nil {
			return fmt.Errorf("symbol: checking the plan of the memory: %w", err)
		}
	}
	for i := range p.steps {
		p.locate(&p.steps[i], bufferOf)
		if b, ok := scratchOf[i]; ok {
			p.steps[i].scratch = p.offset(b)
		}
	}
	return nil
}

// planConfig says that every device has an arena of its own.
func (p *program) planConfig() memplan.Config {
	return memplan.Config{SeparateLanes: p.ex.spread != nil}
}

// makeRooms divides the plan by devices, and tells every step which room is its own.
func (p *program) makeRooms() {
	if p.ex.spread == nil {
		p.rooms = []room{{dev: p.ex.config.Device, bytes: p.plan.Total}}
		return
	}
	for i := range p.steps {
		p.steps[i].room = p.roomOf(p.steps[i].node)
	}
	p.rooms = make([]room, len(p.devices))
	for i, d := range p.devices {
		p.rooms[i].dev = d
	}
	for _, part := range p.plan.Lanes {
		p.rooms[part.Lane].from, p.rooms[part.Lane].bytes = part.Offset, part.Bytes
	}
}

// roomOf returns the number of the room in which the results of a node lie, which is the number of its device.
func (p *program) roomOf(n *op.Node) int {
	if p.ex.spread == nil {
		return 0
	}
	d := p.deviceOf(n)
	i := slices.Index(p.devices, d)
	if i < 0 {
		i = len(p.devices)
		p.devices = append(p.devices, d)
	}
	return i
}

// offset returns where a buffer begins in its room.
func (p *program) offset(b int) int64 { return p.plan.Offsets[b] - p.rooms[p.buffered[b].Lane].from }

// buffers lists what the arena holds: roots of entries, and the scratch memory of kernels.
func (p *program) buffers() (list []memplan.Buffer, bufferOf, scratchOf map[int]int) {
	bufferOf, scratchOf = map[int]int{}, map[int]int{}
	for i, n := range p.g.Nodes {
		from, to := p.g.Out(i)
		for e := from; e < to; e++ {
			if _, outside := p.slotOf[e]; outside || p.store.Root[e] != e || p.store.Bytes[e] == 0 {
				continue
			}
			bufferOf[e] = len(list)
			b := memplan.Buffer{Bytes: p.store.Bytes[e], Start: p.store.Start[e], End: p.store.End[e], Name: n.Entry(e - from).String(), Lane: p.roomOf(n)}
			if reserved(n, e-from) {
				b.Kind = memplan.Scratch
			}
			list = append(list, b)
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.kernel.Scratch > 0 {
			scratchOf[i] = len(list)
			list = append(list, memplan.Buffer{Bytes: int64(s.kernel.Scratch), Start: s.index, End: s.index, Name: s.node.Name + " scratch", Kind: memplan.Scratch, Lane: p.roomOf(s.node)})
		}
	}
	return list, bufferOf, scratchOf
}

// reserved reports whether output i of a node is working memory that its kernel keeps for its
// gradient, as recurrent layers do.
func reserved(n *op.Node, i int) bool {
	return !n.IsVar() && i >= n.NumVisible() && n.Op.Outputs(n.Params)[i] == "reserve"
}

// values returns the size of a plan without the working memory of kernels.
func (p *program) values() int64 {
	list := slices.DeleteFunc(slices.Clone(p.buffered), func(b memplan.Buffer) bool { return b.Kind == memplan.Scratch })
	if len(list) == len(p.buffered) {
		return p.plan.Total
	}
	plan, err := memplan.Compute(list, nil, p.planConfig())
	if err != nil {
		panic(err) // a part of what has been planned already
	}
	return plan.Total
}

// planSteps tells the planner which node uses which buffer and what orders the nodes anyway:
// their position in a segment, and data.
func (p *program) planSteps(bufferOf, scratchOf map[int]int) []memplan.Step {
	list := make([]memplan.Step, len(p.g.Nodes))
	for s := range p.segments {
		prev := -1
		for i := p.segments[s].from; i < p.segments[s].to; i++ {
			st := &p.steps[i]
			m := &list[st.index]
			m.Name = st.node.Name
			renames := p.renames(st)
			for k, e := range st.node.In {
				id := p.g.Entry(e)
				if b, ok := bufferOf[p.store.Root[id]]; ok && !renames && !ignores(st.node, k) {
					m.Reads = append(m.Reads, b)
				}
				if producer, ok := p.g.Node(e.Node); ok && !e.Node.IsVar() {
					m.After = append(m.After, producer)
				}
			}
			for _, a := range st.node.After {
				if n, ok := p.g.Node(a); ok && !a.IsVar() {
					m.After = append(m.After, n)
				}
			}
			from, to := p.g.Out(st.index)
			for e := from; e < to; e++ {
				if b, ok := bufferOf[p.store.Root[e]]; ok && p.store.Bytes[e] > 0 && !renames {
					m.Writes = append(m.Writes, b)
				}
			}
			if b, ok := scratchOf[i]; ok {
				m.Writes = append(m.Writes, b)
			}
			if prev >= 0 {
				m.After = append(m.After, prev)
			}
			prev = st.index
		}
	}
	return list
}

// renames reports whether a step only gives its input's memory another shape.
func (p *program) renames(s *step) bool {
	if !s.node.Op.Identity {
		return false
	}
	out, _ := p.g.Out(s.index)
	_, external := p.slotOf[out]
	return !external && p.store.Root[out] == p.store.Root[p.g.Entry(s.node.In[0])]
}

// locate fills in where the operands of a step are.
func (p *program) locate(s *step, bufferOf map[int]int) {
	if s.dead || p.renames(s) {
		s.skip = true
		return
	}
	for k, e := range s.node.In {
		if !ignores(s.node, k) {
			p.operand(s, operand{index: k}, p.g.Entry(e), bufferOf)
		}
	}
	from, _ := p.g.Out(s.index)
	for j := range s.call.Out {
		p.operand(s, operand{out: true, index: j}, from+j, bufferOf)
	}
}

// operand files o, which is entry e, under the arena or under the array it lives in. An entry that
// nobody wants has no memory.
func (p *program) operand(s *step, o operand, e int, bufferOf map[int]int) {
	root := p.store.Root[e]
	if slot, ok := p.slotOf[root]; ok {
		o.slot = slot
		s.external = append(s.external, o)
	} else if b, ok := bufferOf[root]; ok {
		o.offset, o.room = p.offset(b), p.buffered[b].Lane
		s.internal = append(s.internal, o)
	}
}
