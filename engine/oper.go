package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/engine/core"
)

// inlineUses is the number of uses that an operation record holds without a separate slice.
// BenchmarkUses and BenchmarkQueue1 chose it: with 2, operations with 4 uses take 40 % longer
// through a queue; with 6, operations with one use take 26 % longer in BenchmarkUses, while its
// cases chain and independent64 do not change.
const inlineUses = 4

// oper is one operation in flight. Records are pooled; a record is owned by its pusher, then by the
// scheduler, then by the worker that runs it, then by the scheduler again.
//
// Layout: records travel between processors. A run on a worker touches the first two cache lines
// and the uses; the third line and the last are written by pushers and read when a flag of spec
// says so.
type oper struct {
	core.Op // guarded by scheduler.mu once submitted; the first field, see operOf
	progress
	pool poolID

	buf [inlineUses]core.Use // next to Op: the scheduler reads both when it takes the operation in

	run  Run
	spec spec

	about
	eng  *Engine
	gen  uint64 // number of the asynchronous lives of the record; guarded by scheduler.mu
	turn uint32 // of a wide operation: its place among the operations of one core of its band

	more []core.Use // holds the uses when buf is too small
	dev  *deviceRun // kept once the operation has been queued on a device
	beside
	_ [16]byte
}

// progress tells how far an operation has come.
type progress struct {
	inline   bool // runs on its pusher's goroutine
	inBody   bool // an asynchronous body has not returned yet
	retired  bool // the core has finished with it
	shared   bool // an inline operation that the scheduler has been told of
	signaled bool // done has been called
}

// beside links the operations that run inline at this moment, from pushers.live. Guarded by
// pushers.mu.
type beside struct {
	prev, link *oper
}

// deviceRun holds the state of an operation that only operations on queues of devices have.
type deviceRun struct {
	waits   []Event      // events that the queue must wait for
	started atomic.Int64 // start of the work on the device, on the clock of the profile
}

// device returns the state for a queue of a device.
func (o *oper) device() *deviceRun {
	if o.dev == nil {
		o.dev = &deviceRun{}
	}
	return o.dev
}

// operOf returns the record around an operation of the core.
func operOf(o *core.Op) *oper { return (*oper)(unsafe.Pointer(o)) }

// The conversions between the core's records and the engine's need the former first in the latter.
var _ = [1]int{}[unsafe.Offsetof(oper{}.Op)+unsafe.Offsetof(Var{}.q)+unsafe.Offsetof(
	waiter{}.Waiter)]

// room returns memory for n uses.
func (o *oper) room(n int) []core.Use {
	if n <= inlineUses {
		return o.buf[:n]
	}
	if n > cap(o.more) {
		o.more = make([]core.Use, n)
	}
	return o.more[:n]
}

// queued reports whether o follows the rules of Task.Queued.
func (o *oper) queued() bool { return o.Rules().Is(core.Queued) }

// reset forgets everything that keeps memory of the program alive.
func (o *oper) reset() {
	if len(o.Uses()) > inlineUses && cap(o.more) > 256 {
		o.more = nil
	}
	o.Reset()
	o.spec.fn, o.spec.async, o.run.Arg = nil, nil, nil
	o.progress = progress{}
	if o.spec.is(holds | described | located) {
		o.bytes, o.describe, o.site = 0, nil, nil
	}
	if o.spec.is(queued) && o.dev != nil {
		o.dev.started.Store(0)
		clear(o.dev.waits)
		o.dev.waits = o.dev.waits[:0]
	}
}

// publish makes known, outside of the scheduler's lock, how the retired operation o left its
// variables: versions, poison, and whether they are unused.
func (o *oper) publish() {
	ran := !o.Skipped() && !o.spec.is(barrier)
	acc := o.Uses()
	for i := range acc {
		u := &acc[i]
		if u.Mode != core.Read {
			v := varOf(u.Var)
			if ran {
				v.version.Add(1)
			}
			if p := v.q.Poison(); p != v.poison.Load() {
				v.poison.Store(p)
			}
		}
		if u.Last() {
			varOf(u.Var).quietAt.Store(u.Var.Taken())
		}
	}
}

// recycler brings records of complete operations back to pushers. They travel as a list of
// addresses: following links through records that another processor has just written would stall
// the pusher.
type recycler struct {
	mu   sync.Mutex
	back []*oper
}

// put takes in records that are not used any more and forgets the memory that they refer to.
func (r *recycler) put(list *core.List) {
	for o := list.First(); o != nil; o = o.Next() {
		operOf(o).reset()
	}
	r.mu.Lock()
	for o := list.First(); o != nil; o = o.Next() {
		r.back = append(r.back, operOf(o))
	}
	r.mu.Unlock()
	*list = core.List{} // the links between unused records stay until these enter another list
}

// give takes in records that have been reset.
func (r *recycler) give(records []*oper) {
	if len(records) == 0 {
		return
	}
	r.mu.Lock()
	r.back = append(r.back, records...)
	r.mu.Unlock()
}

// swap exchanges an empty list for the list of returned records.
func (r *recycler) swap(empty []*oper) []*oper {
	r.mu.Lock()
	defer r.mu.Unlock()
	empty, r.back = r.back, empty
	return empty
}

// slab is the number of records that are allocated together. BenchmarkFirst chose it: with 8, the
// first thousand operations take 7 % longer, with 128, the first ten take 37 % longer.
const slab = 32

// record returns an unused record of e. mu is held.
func (p *pushers) record(e *Engine) *oper {
	if len(p.free) == 0 {
		p.free = p.returned.swap(p.free)
	}
	if len(p.free) == 0 {
		records := make([]oper, slab)
		for i := range records {
			o := &records[i]
			o.eng, o.run.op = e, o
			p.free = append(p.free, o)
		}
	}
	last := len(p.free) - 1
	o := p.free[last]
	p.free = p.free[:last]
	return o
}
