package exec

import (
	"fmt"
	"sync/atomic"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// run is one execution of a program: the arrays it was pushed with. It is reused when its last
// segment is done.
type run struct {
	b      *bound
	number uint64
	// place in the random stream from which the draws of the executor count; without draws the
	// numbers of the run and of the stream give the place
	seed   op.Seed
	arrays []*nd.Array   // by slot; segments read it while the run is pushed further
	later  []*nd.Array   // by slot, for the segments of the backward part; empty: arrays
	blocks []*arenaBlock // by room of the program
	args   []segmentRun
	refs   atomic.Int32
}

// segmentRun is the argument of a segment's operation.
type segmentRun struct {
	r      *run
	number int // of the segment
	// worker of the engine that runs the segment, and the profile that it adds its kernels to; nil:
	// there is none
	worker  int
	profile *engine.Profile

	// Used on devices with queues only: done tells the engine that the operation of the run under
	// way has completed, nil between runs; complete is the method value sr.completed, made once.
	done, complete func(error)
}

// begin takes a run for the arrays that are bound now.
func (b *bound) begin(number uint64) (*run, error) {
	a, p := b.ex.arena, b.p
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, room := range p.Memory.Rooms {
		if _, err := a.reserve(room); err != nil {
			return nil, err
		}
	}
	p.refs.Add(1)
	var r *run
	if n := len(b.free); n > 0 {
		r, b.free = b.free[n-1], b.free[:n-1]
	} else {
		r = &run{b: b, arrays: make([]*nd.Array, len(p.Slots)), blocks: make([]*arenaBlock,
			len(p.Memory.Rooms)), args: make([]segmentRun, len(p.Segments))}
		for i := range r.args {
			r.args[i] = segmentRun{r: r, number: i}
		}
	}
	r.number = number
	copy(r.arrays, b.arrays)
	for i, room := range p.Memory.Rooms {
		r.blocks[i] = a.blocks[room.Device]
		r.blocks[i].refs.Add(1)
	}
	r.refs.Store(1)
	a.last = r
	return r, nil
}

// release gives up one reference; the last one returns the run for reuse.
func (r *run) release() {
	if r.refs.Add(-1) > 0 {
		return
	}
	clear(r.arrays)
	clear(r.later)
	r.later = r.later[:0]
	for i, block := range r.blocks {
		block.release()
		r.blocks[i] = nil
	}
	b := r.b
	b.ex.arena.mu.Lock()
	b.free = append(b.free, r)
	b.ex.arena.mu.Unlock()
	b.p.release()
}

// open pushes the beginning of a run: it waits until the arena is free and cures it.
func (r *run) open() {
	ex := r.b.ex
	r.refs.Add(1)
	ex.uses = append(ex.uses[:0], engine.Use{Var: ex.arena.token, Access: engine.Overwrite})
	task := engine.Task{Name: "executor run", Fn: openRun, Arg: r, Uses: ex.uses, Cheap: true}
	if on := ex.config.Device; ex.spread == nil && (compile.Lane{Device: on}).Queued() {
		// Addresses are read when work is put on the queue, so the runs before need not be done.
		task.Fn, task.Async, task.Queued, task.Cheap, task.Lane = nil, queueOpen, true, false,
			engine.Lane{Device: on}
	}
	ex.eng.Push(&task)
}

// openRun fills in the addresses of the steps, if the arena has moved.
func openRun(er *engine.Run) error {
	r := er.Arg.(*run)
	defer r.release()
	r.b.locate(r.blocks)
	return nil
}

// start pushes the forward part of a run, and before it the segments that make the kept forms anew
// if parameters have changed.
func (r *run) start() {
	r.open()
	r.derive()
	r.push(r.b.p.Derived, r.b.p.Forward)
}

// derive pushes the segments that make the kept forms anew if parameters have changed.
func (r *run) derive() {
	p := r.b.p
	if p.Derived == 0 {
		return
	}
	p.forms.pushing.Lock()
	defer p.forms.pushing.Unlock()
	if p.forms.stale(p, r) {
		r.push(0, p.Derived)
	}
}

// push pushes segments [from, to) of a run.
func (r *run) push(from, to int) {
	ex := r.b.ex
	r.refs.Add(int32(to - from))
	b := r.b
	for i := from; i < to; i++ {
		seg := &b.p.Segments[i]
		ex.uses = append(ex.uses[:0], engine.Use{Var: ex.arena.token, Access: engine.Read},
			engine.Use{Var: b.tokens[i], Access: engine.Overwrite})
		for _, k := range seg.Needs {
			ex.uses = append(ex.uses, engine.Use{Var: b.tokens[k], Access: engine.Read})
		}
		for _, u := range seg.Uses {
			a := r.arraysOf(i)[u.Slot]
			access := accesses[u.Access]
			if access == engine.Overwrite && !a.Whole() {
				access = engine.Update
			}
			ex.uses = append(ex.uses, engine.Use{Var: a.Var(), Access: access})
		}
		task := engine.Task{Name: seg.Name, Fn: runSegment, Arg: &r.args[i], Uses: ex.uses,
			Wide: seg.Wide, Threads: seg.Threads, Lane: b.p.lanes[i]}
		if seg.Lane.Queued() {
			task.Fn, task.Async, task.Queued = nil, queueSegment, true
		} else if b.p.waits[i] {
			task.Fn, task.Async, task.Wide = nil, waitSegment, false
		}
		ex.eng.Push(&task)
	}
}

// arraysOf returns the arrays of a segment, by slot.
func (r *run) arraysOf(segment int) []*nd.Array {
	if segment >= r.b.p.Forward && len(r.later) > 0 {
		return r.later
	}
	return r.arrays
}

// segment returns the segment that sr runs.
func (sr *segmentRun) segment() *compile.Segment { return &sr.r.b.p.Segments[sr.number] }

// runSegment is the body of segments on hosts.
func runSegment(er *engine.Run) error {
	sr := er.Arg.(*segmentRun)
	defer sr.r.release()
	sr.worker, sr.profile = er.Worker, er.Profile()
	return sr.run(nil)
}

// waitSegment is the body of segments on hosts that wait for segments of other devices. They have a
// goroutine of their own, because the workers of the engine are needed for the others.
func waitSegment(er *engine.Run, done func(error)) {
	go func() { done(runSegment(er)) }()
}

// run runs the kernels of a segment one after the other, or puts their work on a queue. There,
// whether a kept form of a parameter is fresh is not known yet: it is made in any case.
func (sr *segmentRun) run(q device.Queue) error {
	b := sr.r.b
	seg, arrays := sr.segment(), sr.r.arraysOf(sr.number)
	for i := seg.From; i < seg.To; i++ {
		s, c, keep := &b.p.Steps[i], &b.calls[i], b.p.keepers[i]
		if s.Skip || keep != nil && q == nil && keep.fresh(sr.r) {
			continue
		}
		for k := range s.External {
			o := &s.External[k]
			if a := arrays[o.Slot]; o.Of(c).Storage != op.Dense {
				o.Of(c).Sparse = a.Stored()
			} else {
				o.Of(c).Data = a.Pointer()
			}
		}
		if s.Node.Op.Random {
			c.Seed = sr.r.seedOf(s)
		}
		c.Queue = q
		if err := sr.kernel(s, c); err != nil {
			return describe(s, c, err)
		}
		if keep != nil && q == nil {
			keep.done(sr.r)
		}
		if !b.ex.config.Guard && b.watch == nil {
			continue
		}
		seen, err := onHost(q, c)
		if err != nil {
			return describe(s, c, err)
		}
		if b.ex.config.Guard {
			if err := guard(s, seen); err != nil {
				return err
			}
		}
		if b.watch != nil {
			if err := b.observe(i, seen, sr.r.number); err != nil {
				return err
			}
		}
	}
	return nil
}

// kernel runs the kernel of a step, and adds it to the profile if there is one.
func (sr *segmentRun) kernel(s *compile.Step, c *op.Call) error {
	p := sr.profile
	if p == nil || c.Queue != nil {
		return s.Kernel.Run(c)
	}
	k := engine.Kernel{Node: s.Node.Name, Op: s.Node.Op.Name, Start: p.Now(), Worker: sr.worker,
		Lane: sr.r.b.p.lanes[sr.number]}
	err := s.Kernel.Run(c)
	cost := s.Node.Op.Cost(s.Node.Params, descs(c.In), descs(c.Out))
	k.Bytes, k.FLOPs = cost.Bytes, cost.FLOPs
	p.Kernel(k)
	return err
}

// descs describes operands.
func descs(list []op.Tensor) []op.Desc {
	d := make([]op.Desc, len(list))
	for i := range list {
		d[i] = list[i].Desc
	}
	return d
}

// seedOf returns the place of a step in the random stream.
func (r *run) seedOf(s *compile.Step) op.Seed {
	ex := r.b.ex
	switch {
	case ex.config.lent == nil:
		return op.Seed{Key: ex.config.Seed + s.Stream<<32, Counter: r.number << 32}
	case s.Stream >= uint64(len(ex.config.lent.draws)):
		return op.Seed{} // the node could draw and does not
	}
	return op.Seed{Key: r.seed.Key, Counter: r.seed.Counter + ex.config.lent.draws[s.Stream]}
}

// describe adds to err the node that failed and the types and shapes of its inputs.
func describe(s *compile.Step, c *op.Call, err error) error {
	return op.WithOp(fmt.Errorf("%w (inputs: %s)", err, shapes(c.In)), s.Node.Op.Name, s.Node.Name,
		s.Node.Site)
}

func shapes(list []op.Tensor) string {
	text := ""
	for i, t := range list {
		if i > 0 {
			text += ", "
		}
		text += t.DType.String() + t.Shape.String()
	}
	return text
}

// guard looks for NaN and infinity in the outputs of s.
func guard(s *compile.Step, c *op.Call) error {
	for i, t := range c.Out {
		if t.Data == nil || t.DType != dtype.Float32 || s.Node.Op.Keeps && t.Layout != nil {
			continue
		}
		for k, v := range op.Slice[float32](t) {
			if v-v != 0 { // NaN and the infinities
				return &op.Error{Op: s.Node.Op.Name, Node: s.Node.Name, Site: s.Node.Site,
					Msg: fmt.Sprintf("output %s has the value %v at index %d of shape %v",
						s.Node.Entry(i), float64(v), k, t.Shape)}
			}
		}
	}
	return nil
}
