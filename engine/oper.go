package engine

import (
	"sync"
	"sync/atomic"
)

// inlineUses is the number of uses that an operation record holds without a separate slice.
const inlineUses = 4

// access is one use of one operation in flight.
type access struct {
	op     *oper
	v      *Var
	next   *access // the following access in the queue of v
	mode   Access
	clear  bool // every conflicting access pushed before it has been retired
	passed bool // it has been issued or retired; kept for variables with an issue order only
}

// oper is one operation in flight. Records are pooled; a record is owned by its pusher, then by the scheduler, then by the worker that runs it, then by the scheduler again.
// It travels between processors, so what every operation needs comes first and fills few cache lines.
//
// Layout: the first cache line is read or written at every step, the second describes one-shot operations, the next two hold their uses.
type oper struct {
	next      *oper // in the list that holds the record
	spec      *spec // own, or that of a reusable operation
	run       Run
	unclear   int32 // accesses that are not clear
	n         int32 // accesses
	crew      crewID
	queued    bool // follows the rules of Task.Queued
	finished  bool
	skipped   bool
	inline    bool // runs on its pusher's goroutine
	inBody    bool // an asynchronous body has not returned yet
	retired   bool // the core has finished with it
	own       spec
	buf       [inlineUses]access
	more      []access // holds the accesses when buf is too small
	inherited *OpError // the first cause among its inputs
	failure   *OpError // its own failure
	site      *site
	eng       *Engine
	prev      *oper  // links, with next, the operations that run inline now
	gen       uint64 // counts the lives of the record; guarded by Engine.sched.mu
	waits     []Event
	ungranted int32  // accesses that may not be issued yet; of queued operations only
	turn      uint32 // of a wide operation: the operations of one core and the same band that were ready before it have been taken when so many have
	shared    bool   // an inline operation that the scheduler has been told of
	signaled  bool   // done has been called
	_         [6]byte
	started   atomic.Int64 // when the device came to the work of a queued operation, on the clock of the profile
	_         [8]byte
}

// acc returns the accesses.
func (o *oper) acc() []access {
	if o.n <= inlineUses {
		return o.buf[:o.n]
	}
	return o.more[:o.n]
}

// sized returns room for n accesses.
func (o *oper) sized(n int) []access {
	if n <= inlineUses {
		return o.buf[:n]
	}
	if n > cap(o.more) {
		o.more = make([]access, n)
	}
	return o.more[:n]
}

// reset forgets everything that keeps memory of the program alive.
func (o *oper) reset() {
	acc := o.acc()
	for i := range acc {
		acc[i].v, acc[i].next = nil, nil
	}
	if cap(o.more) > 256 {
		o.more = nil
	}
	if o.spec == &o.own {
		o.own.fn, o.own.async, o.own.describe = nil, nil, nil
	}
	o.spec, o.run.Arg, o.n = nil, nil, 0
	o.queued, o.finished, o.skipped, o.inline, o.inBody, o.retired = false, false, false, false, false, false
	if o.inherited != nil || o.failure != nil || o.site != nil {
		o.inherited, o.failure, o.site = nil, nil, nil
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

// list is a singly linked queue of operation records.
type list struct {
	head, tail *oper
	n          int
}

func (l *list) push(o *oper) {
	o.next = nil
	if l.tail == nil {
		l.head = o
	} else {
		l.tail.next = o
	}
	l.tail = o
	l.n++
}

func (l *list) pop() *oper {
	o := l.head
	if o == nil {
		return nil
	}
	l.head = o.next
	if l.head == nil {
		l.tail = nil
	}
	o.next = nil
	l.n--
	return o
}

// recycler brings records of complete operations back to those who push. They travel as a list of addresses: following links through records that another processor has just written would stall the pusher.
type recycler struct {
	mu   sync.Mutex
	back []*oper
}

// put takes in a chain of records that nobody uses any more and forgets what they refer to.
func (r *recycler) put(o *oper) {
	for p := o; p != nil; p = p.next {
		p.reset()
	}
	r.mu.Lock()
	for ; o != nil; o = o.next {
		r.back = append(r.back, o)
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
