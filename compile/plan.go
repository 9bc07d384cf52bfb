package compile

import (
	"fmt"
	"slices"

	"gomx/device"
	"gomx/graph"
	"gomx/memplan"
	"gomx/op"
)

// assignStorage decides which entries share memory. It relies on prepared kernels: they tell the
// bytes of their results, which layouts may have padded, and whether they must not work in place.
func assignStorage(u *Unit) {
	p := u.prog
	places := make([]graph.Place, p.Graph.NumEntries())
	for e, s := range p.Outside {
		if places[e] = graph.Source; p.Slots[s].Sink {
			places[e] = graph.Sink
		}
	}
	bytes, apart := make([]int64, p.Graph.NumEntries()), make([]bool, len(p.Graph.Nodes))
	for e := range bytes {
		bytes[e] = int64(p.Descs[e].Bytes)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		from, _ := p.Graph.Out(s.Index)
		apart[s.Index] = s.Kernel.Apart
		for j := range s.Call.Out {
			bytes[from+j] = int64(s.Call.Out[j].Bytes)
		}
	}
	p.Memory.Store = graph.AssignStorage(p.Graph, places, bytes, u.draft.forward, apart)
}

// plan gives every value and every scratch buffer its place. Time is the number of a node, so that
// lives of the storage serve as they are. The order inside segments is known to the planner, or it
// would find hazards between steps that never run at the same time.
func plan(u *Unit) (err error) {
	p := u.prog
	pl := &planner{u: u, p: p}
	pl.list()
	pl.hold()
	m := &p.Memory
	m.Buffers, m.BufferOf, m.Separate = pl.buffers, pl.bufferOf, u.opt.Spread != nil
	u.draft.scratch = pl.scratchOf
	steps := pl.steps()
	if m.Plan, err = memplan.Compute(m.Buffers, steps, m.config()); err != nil {
		return fmt.Errorf("compile: planning memory: %w", err)
	}
	pl.makeRooms()
	if u.opt.Verify {
		if err := memplan.Verify(m.Buffers, steps, m.Plan); err != nil {
			return fmt.Errorf("compile: checking the plan of the memory: %w", err)
		}
	}
	return nil
}

// config says that every device has an arena of its own.
func (m *Memory) config() memplan.Config { return memplan.Config{SeparateLanes: m.Separate} }

// planner is the state of the stage plan.
type planner struct {
	u         *Unit
	p         *Program
	devices   []device.Device  // devices by number of their room
	buffers   []memplan.Buffer // buffers found so far: values, then scratch memory
	bufferOf  map[int]int      // positions in buffers, by root entry
	scratchOf map[int]int      // positions in buffers, by position of the step
}

// list collects the buffers of the arena: roots of entries, and the scratch memory of kernels.
// Entries in slots and entries without bytes are left out. The order decides nothing but the
// numbers that texts show, and it is the same each time.
func (pl *planner) list() {
	p := pl.p
	pl.bufferOf, pl.scratchOf = map[int]int{}, map[int]int{}
	store := p.Memory.Store
	for i, n := range p.Graph.Nodes {
		from, to := p.Graph.Out(i)
		for e := from; e < to; e++ {
			if _, outside := p.Outside[e]; outside || store.Root[e] != e || store.Bytes[e] == 0 {
				continue
			}
			pl.bufferOf[e] = len(pl.buffers)
			b := memplan.Buffer{Bytes: store.Bytes[e], Start: store.Start[e], End: store.End[e],
				Name: n.Entry(e - from).String(), Lane: pl.roomOf(n)}
			if reserved(n, e-from) {
				b.Kind = memplan.Scratch
			}
			pl.buffers = append(pl.buffers, b)
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kernel.Scratch > 0 {
			pl.scratchOf[i] = len(pl.buffers)
			pl.buffers = append(pl.buffers, memplan.Buffer{Bytes: int64(s.Kernel.Scratch),
				Start: s.Index, End: s.Index,
				Name: s.Node.Name + " scratch", Kind: memplan.Scratch, Lane: pl.roomOf(s.Node)})
		}
	}
}

// hold lets the outputs of kernels that say so live until their segments end.
func (pl *planner) hold() {
	p := pl.p
	for k := range p.Segments {
		seg := &p.Segments[k]
		end := p.Steps[seg.To-1].Index
		for i := seg.From; i < seg.To; i++ {
			s := &p.Steps[i]
			if !s.Kernel.Holds {
				continue
			}
			from, to := p.Graph.Out(s.Index)
			for e := from; e < to; e++ {
				if b, ok := pl.bufferOf[p.Memory.Store.Root[e]]; ok {
					pl.buffers[b].End = max(pl.buffers[b].End, end)
				}
			}
		}
	}
}

// reserved reports whether output i of a node is working memory that its kernel keeps for its
// gradient, as recurrent layers do.
func reserved(n *op.Node, i int) bool {
	return !n.IsVar() && i >= n.NumVisible() && n.Op.Outputs(n.Params)[i] == "reserve"
}

// roomOf returns the number of the room in which the results of a node lie, which is the number of
// its device. Devices are numbered as they are met. memplan knows rooms as lanes.
func (pl *planner) roomOf(n *op.Node) int {
	if pl.u.opt.Spread == nil {
		return 0
	}
	d := pl.u.deviceOf(n)
	i := slices.Index(pl.devices, d)
	if i < 0 {
		i = len(pl.devices)
		pl.devices = append(pl.devices, d)
	}
	return i
}

// makeRooms divides the plan by devices, and tells every step its room. One room holds everything
// where the program runs on one device.
func (pl *planner) makeRooms() {
	p := pl.p
	m := &p.Memory
	if !m.Separate {
		m.Rooms = []Room{{Device: pl.u.opt.Device, Bytes: m.Plan.Total}}
		return
	}
	for i := range p.Steps {
		p.Steps[i].Room = pl.roomOf(p.Steps[i].Node)
	}
	m.Rooms = make([]Room, len(pl.devices))
	for i, d := range pl.devices {
		m.Rooms[i].Device = d
	}
	for _, part := range m.Plan.Lanes {
		m.Rooms[part.Lane].From, m.Rooms[part.Lane].Bytes = part.Offset, part.Bytes
	}
}

// steps tells the planner which node uses which buffer, and which order exists anyway: the
// positions in a segment, and data.
func (pl *planner) steps() []memplan.Step {
	p := pl.p
	list := make([]memplan.Step, len(p.Graph.Nodes))
	for s := range p.Segments {
		for i := p.Segments[s].From; i < p.Segments[s].To; i++ {
			st := &p.Steps[i]
			m := &list[st.Index]
			m.Name = st.Node.Name
			pl.use(i, m)
			m.After = append(m.After, p.producers(st.Node)...)
			if i > p.Segments[s].From {
				m.After = append(m.After, p.Steps[i-1].Index)
			}
		}
	}
	return list
}

// use lists the buffers that step i reads and writes. A step that only renames memory uses none:
// its readers name the same buffer.
func (pl *planner) use(i int, m *memplan.Step) {
	p, st := pl.p, &pl.p.Steps[i]
	store := p.Memory.Store
	if !p.renames(st) {
		for k, e := range st.Node.In {
			if b, ok := pl.bufferOf[store.Root[p.Graph.Entry(e)]]; ok && !ignores(st.Node, k) {
				m.Reads = append(m.Reads, b)
			}
		}
		from, to := p.Graph.Out(st.Index)
		for e := from; e < to; e++ {
			if b, ok := pl.bufferOf[store.Root[e]]; ok && store.Bytes[e] > 0 {
				m.Writes = append(m.Writes, b)
			}
		}
	}
	if b, ok := pl.scratchOf[i]; ok {
		m.Writes = append(m.Writes, b)
	}
}

// renames reports whether a step only gives its input's memory another shape. A result that has a
// slot of its own is copied into it, even if the operator changes nothing.
func (p *Program) renames(s *Step) bool {
	if !s.Node.Op.Identity || len(s.Node.Op.Changes(s.Node.Params)) > 0 {
		return false
	}
	out, _ := p.Graph.Out(s.Index)
	_, external := p.Outside[out]
	return !external && p.Memory.Store.Root[out] == p.Memory.Store.Root[p.Graph.Entry(s.Node.In[0])]
}

// locate tells every step where its operands are. Offsets count from the beginning of a room,
// because rooms lie on devices of their own.
func locate(u *Unit) {
	p := u.prog
	for i := range p.Steps {
		s := &p.Steps[i]
		p.locate(s)
		if b, ok := u.draft.scratch[i]; ok {
			s.Scratch = p.Memory.offset(b)
		}
	}
}

// offset returns where a buffer begins in its room, in bytes.
func (m *Memory) offset(b int) int64 { return m.Plan.Offsets[b] - m.Rooms[m.Buffers[b].Lane].From }

// locate fills in where the operands of a step are.
func (p *Program) locate(s *Step) {
	if s.Dead || p.renames(s) {
		s.Skip = true
		return
	}
	for k, e := range s.Node.In {
		if !ignores(s.Node, k) {
			p.operand(s, Operand{Index: k}, p.Graph.Entry(e))
		}
	}
	from, _ := p.Graph.Out(s.Index)
	for j := range s.Call.Out {
		p.operand(s, Operand{Out: true, Index: j}, from+j)
	}
}

// operand files o, which is entry e, under the arena or under the array that it lives in. An entry
// that no step reads has no memory and gets no place.
func (p *Program) operand(s *Step, o Operand, e int) {
	root := p.Memory.Store.Root[e]
	if slot, ok := p.Outside[root]; ok {
		o.Slot = slot
		s.External = append(s.External, o)
	} else if b, ok := p.Memory.BufferOf[root]; ok {
		o.Offset, o.Room = p.Memory.offset(b), p.Memory.Buffers[b].Lane
		s.Internal = append(s.Internal, o)
	}
}
