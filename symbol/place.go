package symbol

import (
	"fmt"

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
	bytes := make([]int64, p.g.NumEntries())
	for e := range bytes {
		bytes[e] = int64(p.desc(e).Bytes)
	}
	for i := range p.steps {
		s := &p.steps[i]
		from, _ := p.g.Out(s.index)
		for j := range s.call.Out {
			bytes[from+j] = int64(s.call.Out[j].Bytes)
		}
	}
	p.store = graph.AssignStorage(p.g, places, bytes, forward)
	buffers, bufferOf, scratchOf := p.buffers()
	var err error
	if p.plan, err = memplan.Compute(buffers, p.planSteps(bufferOf, scratchOf), memplan.Config{}); err != nil {
		return fmt.Errorf("symbol: planning memory: %w", err)
	}
	for i := range p.steps {
		p.locate(&p.steps[i], bufferOf)
		if b, ok := scratchOf[i]; ok {
			p.steps[i].scratch = p.plan.Offsets[b]
		}
	}
	return nil
}

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
			list = append(list, memplan.Buffer{Bytes: p.store.Bytes[e], Start: p.store.Start[e], End: p.store.End[e], Name: n.Entry(e - from).String()})
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.kernel.Scratch > 0 {
			scratchOf[i] = len(list)
			list = append(list, memplan.Buffer{Bytes: int64(s.kernel.Scratch), Start: s.index, End: s.index, Name: s.node.Name + " scratch", Kind: memplan.Scratch})
		}
	}
	return list, bufferOf, scratchOf
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
			p.operand(s, &s.call.In[k], p.g.Entry(e), bufferOf)
		}
	}
	from, _ := p.g.Out(s.index)
	for j := range s.call.Out {
		p.operand(s, &s.call.Out[j], from+j, bufferOf)
	}
}

// operand files tensor t, which is entry e, under the arena or under the array it lives in. An
// entry that nobody wants has no memory.
func (p *program) operand(s *step, t *op.Tensor, e int, bufferOf map[int]int) {
	root := p.store.Root[e]
	if slot, ok := p.slotOf[root]; ok {
		s.external = append(s.external, operand{tensor: t, slot: slot})
	} else if b, ok := bufferOf[root]; ok {
		s.internal = append(s.internal, operand{tensor: t, offset: p.plan.Offsets[b]})
	}
}
