package symbol

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// arena is the planned memory of one or more executors, which use it one run after the other.
type arena struct {
	dev   device.Device
	token *engine.Var // overwritten when a run begins, read by its segments

	mu    sync.Mutex
	users int // executors that are not closed
	block *arenaBlock
	last  *run // the run that began last: what it keeps for its backward part is still there
}

// arenaBlock is freed when the arena and the last run on it have let go, or when the collector
// finds it forgotten.
type arenaBlock struct {
	device.Block
	refs    atomic.Int32
	cleanup runtime.Cleanup
}

func (b *arenaBlock) release() {
	if b != nil && b.refs.Add(-1) == 0 {
		b.cleanup.Stop()
		b.Free()
	}
}

// reserve makes the arena at least bytes large, keeping what it has if that is enough. Runs that
// are under way keep the old block until they are done.
func (a *arena) reserve(bytes int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.block != nil && bytes <= a.block.Bytes {
		return nil
	}
	b, err := device.Alloc(a.dev, bytes, device.PurposeArena)
	if err != nil {
		return err
	}
	a.block.release()
	a.block = &arenaBlock{Block: b}
	a.block.refs.Store(1)
	a.block.cleanup = runtime.AddCleanup(a.block, device.Block.Free, b)
	return nil
}

func (ex *Executor) engine() *engine.Engine { return engine.Default() }

// share gives ex its arena: that of another executor, or a new one.
func (ex *Executor) share(other *Executor) {
	if other != nil {
		ex.arena = other.arena
	} else {
		ex.arena = &arena{dev: ex.config.Device, token: ex.engine().NewVar("arena")}
	}
	ex.arena.mu.Lock()
	defer ex.arena.mu.Unlock()
	ex.arena.users++
}

// leave tells that one executor is closed; the last one gives the memory back.
func (a *arena) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users--; a.users == 0 {
		a.block.release()
		a.block = nil
	}
}

// run is one execution of a program: the arrays it was pushed with. It is reused when its last
// segment is done.
type run struct {
	p      *program
	number uint64
	arrays []*nd.Array
	block  *arenaBlock
	args   []segmentRun
	refs   atomic.Int32
}

// segmentRun is the argument of a segment's operation.
type segmentRun struct {
	r   *run
	seg *segment
}

// begin takes a run for the arrays that are bound now.
func (p *program) begin(number uint64) *run {
	a := p.ex.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	var r *run
	if n := len(p.free); n > 0 {
		r, p.free = p.free[n-1], p.free[:n-1]
	} else {
		r = &run{p: p, arrays: make([]*nd.Array, len(p.slots)), args: make([]segmentRun, len(p.segments))}
		for i := range r.args {
			r.args[i] = segmentRun{r, &p.segments[i]}
		}
	}
	r.number = number
	for i := range p.slots {
		r.arrays[i] = p.slots[i].array
	}
	r.block = a.block
	r.block.refs.Add(1)
	r.refs.Store(1)
	a.last = r
	return r
}

// release gives up one reference; the last one returns the run for reuse.
func (r *run) release() {
	if r.refs.Add(-1) > 0 {
		return
	}
	clear(r.arrays)
	r.block.release()
	r.p.ex.arena.mu.Lock()
	r.p.free = append(r.p.free, r)
	r.p.ex.arena.mu.Unlock()
}

// open pushes the beginning of a run: it waits until the arena is free and cures it.
func (ex *Executor) open(r *run) {
	r.refs.Add(1)
	ex.uses = append(ex.uses[:0], engine.Use{Var: ex.arena.token, Access: engine.Overwrite})
	ex.engine().Push(&engine.Task{Name: "executor run", Fn: openRun, Arg: r, Uses: ex.uses, Cheap: true})
}

// openRun fills in the addresses of the steps, if the arena has moved.
func openRun(er *engine.Run) error {
	r := er.Arg.(*run)
	defer r.release()
	if p := r.p; p.base != uintptr(r.block.Ptr) {
		p.base = uintptr(r.block.Ptr)
		for i := range p.steps {
			s := &p.steps[i]
			for _, o := range s.internal {
				o.tensor.Data = unsafe.Add(r.block.Ptr, o.offset)
			}
			if s.scratch >= 0 {
				s.call.Scratch = unsafe.Add(r.block.Ptr, s.scratch)
			}
		}
	}
	return nil
}

// push pushes segments [from, to) of a run.
func (ex *Executor) push(r *run, from, to int) {
	r.refs.Add(int32(to - from))
	for i := from; i < to; i++ {
		seg := &r.p.segments[i]
		ex.uses = append(ex.uses[:0],
			engine.Use{Var: ex.arena.token, Access: engine.Read},
			engine.Use{Var: seg.token, Access: engine.Overwrite})
		for _, v := range seg.needs {
			ex.uses = append(ex.uses, engine.Use{Var: v, Access: engine.Read})
		}
		for _, u := range seg.slots {
			a := r.arrays[u.slot]
			access := u.access
			if access == engine.Overwrite && !a.Whole() {
				access = engine.Update
			}
			ex.uses = append(ex.uses, engine.Use{Var: a.Var(), Access: access})
		}
		ex.engine().Push(&engine.Task{Name: seg.name, Fn: runSegment, Arg: &r.args[i], Uses: ex.uses, Wide: seg.wide,
			Lane: engine.Lane{Device: ex.config.Device}})
	}
}

// runSegment runs the kernels of a segment one after the other.
func runSegment(er *engine.Run) error {
	sr := er.Arg.(*segmentRun)
	defer sr.r.release()
	p := sr.r.p
	for i := sr.seg.from; i < sr.seg.to; i++ {
		s := &p.steps[i]
		if s.skip || s.keep != nil && s.keep.fresh(sr.r) {
			continue
		}
		for _, o := range s.external {
			o.tensor.Data = sr.r.arrays[o.slot].Pointer()
		}
		if s.node.Op.Random {
			s.call.Seed = op.Seed{Key: p.ex.config.Seed + uint64(s.index)<<32, Counter: sr.r.number << 32}
		}
		if err := s.kernel.Run(&s.call); err != nil {
			return p.describe(s, err)
		}
		if s.keep != nil {
			s.keep.done(sr.r)
		}
		if p.ex.config.Guard {
			if err := p.guard(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe names the node that failed and what it was given.
func (p *program) describe(s *step, err error) error {
	return op.WithOp(fmt.Errorf("%w (inputs: %s)", err, shapes(s.call.In)), s.node.Op.Name, s.node.Name, s.node.Site)
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
func (p *program) guard(s *step) error {
	for i, t := range s.call.Out {
		if t.Data == nil || t.DType != dtype.Float32 {
			continue
		}
		for k, v := range op.Slice[float32](t) {
			if v-v != 0 { // NaN and the infinities
				return &op.Error{Op: s.node.Op.Name, Node: s.node.Name, Site: s.node.Site,
					Msg: fmt.Sprintf("output %s has the value %v at index %d of shape %v", s.node.Entry(i), float64(v), k, t.Shape)}
			}
		}
	}
	return nil
}
