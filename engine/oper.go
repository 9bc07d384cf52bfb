package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/engine/core"
)

// inlineUses is the number of uses that an operation record holds without a separate slice.
const inlineUses = 4

// oper is one operation in flight. Records are pooled; a record is owned by its pusher, then by the
// scheduler, then by the worker that runs it, then by the scheduler again.
//
// Layout: records travel between processors. The first cache line is read or written at every step,
// the second holds the call, the third describes one-shot operations, the next hold the uses.
type oper struct {
	core.Op  // guarded by Engine.sched.mu once submitted; the first field, see operOf
	run      Run
	link     *oper // in the chain of free, late or inline operations that holds the record
	n        int32 // uses
	pool     poolID
	inline   bool // runs on its pusher's goroutine
	inBody   bool // an asynchronous body has not returned yet
	retired  bool // the core has finished with it
	shared   bool // an inline operation that the scheduler has been told of
	signaled bool // done has been called
	spec     spec
	buf      [inlineUses]core.Use
	more     []core.Use // holds the uses when buf is too small
	site     *site
	eng      *Engine
	prev     *oper  // links, with link, the operations that run inline now
	gen      uint64 // counts the lives of the record; guarded by Engine.sched.mu
	waits    []Event
	turn     uint32       // of a wide operation: its place among the operations of one core of its band
	started  atomic.Int64 // start of a queued operation's work on its device, on the clock of the profile
}

// operOf returns the record around an operation of the core.
func operOf(o *core.Op) *oper { return (*oper)(unsafe.Pointer(o)) }

// The conversions between the core's records and the engine's need the former first in the latter.
var _ = [1]int{}[unsafe.Offsetof(oper{}.Op)+unsafe.Offsetof(Var{}.q)+unsafe.Offsetof(waiter{}.Waiter)]

// acc returns the uses.
func (o *oper) acc() []core.Use {
	if o.n <= inlineUses {
		return o.buf[:o.n]
	}
	return o.more[:o.n]
}

// sized returns room for n uses.
func (o *oper) sized(n int) []core.Use {
	if n <= inlineUses {
		return o.buf[:n]
	}
	if n > cap(o.more) {
		o.more = make([]core.Use, n)
	}
	return o.more[:n]
}

// rules returns how the core treats o.
func (o *oper) rules() (r core.Rules) {
	if o.spec.is(noSkip | delete_) {
		r |= core.Always
	}
	if o.spec.is(barrier) {
		r |= core.Silent
	}
	if o.inline {
		return r | core.Running
	}
	if o.spec.is(queued) && !o.eng.cfg.Naive {
		r |= core.Queued
	}
	return r
}

// queued reports whether o follows the rules of Task.Queued.
func (o *oper) queued() bool { return o.Rules().Is(core.Queued) }

// reset forgets everything that keeps memory of the program alive.
func (o *oper) reset() {
	acc := o.acc()
	for i := range acc {
		acc[i].Var = nil
	}
	o.Reset()
	if cap(o.more) > 256 {
		o.more = nil
	}
	o.spec.fn, o.spec.async, o.spec.describe = nil, nil, nil
	o.run.Arg, o.n = nil, 0
	o.inline, o.inBody, o.retired = false, false, false
	if o.site != nil {
		o.site = nil
	}
	if o.shared || o.signaled {
		o.shared, o.signaled = false, false
		o.started.Store(0)
	}
	if len(o.waits) > 0 {
		clear(o.waits)
		o.waits = o.waits[:0]
	}
}

// publish makes known, outside of the scheduler's lock, how the retired operation o left its
// variables: versions, poison, and whether they are unused.
func (o *oper) publish() {
	ran := !o.Skipped() && !o.spec.is(barrier)
	acc := o.acc()
	for i := range acc {
		v := varOf(acc[i].Var)
		if acc[i].Mode != core.Read {
			if ran {
				v.version.Add(1)
			}
			if p := v.q.Poison(); p != v.poison.Load() {
				v.poison.Store(p)
			}
		}
		if v.q.Quiet() {
			v.quietAt.Store(v.q.Taken())
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

// put takes in a chain of records that are not used any more and forgets the memory that they refer
// to.
func (r *recycler) put(o *oper) {
	for p := o; p != nil; p = p.link {
		p.reset()
	}
	r.mu.Lock()
	for o != nil {
		r.back = append(r.back, o)
		o, o.link = o.link, nil
	}
	r.mu.Unlock()
}

// swap exchanges an empty list for what came back.
func (r *recycler) swap(empty []*oper) []*oper {
	r.mu.Lock()
	defer r.mu.Unlock()
	empty, r.back = r.back, empty
	return empty
}

// slab is the number of records that are allocated together.
const slab = 32

// record returns an unused record. push.mu is held.
func (e *Engine) record() *oper {
	if len(e.push.free) == 0 {
		e.push.free = e.returned.swap(e.push.free)
	}
	if len(e.push.free) == 0 {
		records := make([]oper, slab)
		for i := range records {
			o := &records[i]
			o.eng, o.run.op = e, o
			e.push.free = append(e.push.free, o)
		}
	}
	last := len(e.push.free) - 1
	o := e.push.free[last]
	e.push.free = e.push.free[:last]
	return o
}
