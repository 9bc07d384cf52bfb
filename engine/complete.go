package engine

import "gomx/engine/core"

// bodyReturned completes a synchronous operation, and an asynchronous one whose body failed. Other
// asynchronous operations are completed by their done. sched.mu is held.
func (e *Engine) bodyReturned(o *oper, failure *OpError) {
	if !o.inBody {
		e.done(o, failure)
		return
	}
	o.inBody = false
	switch {
	case o.retired: // done was called before the body returned, and the record has been kept for us
		e.sched.late.Push(&o.Op)
	case failure != nil && !o.signaled:
		o.signaled = true
		delete(e.sched.flying, o)
		e.done(o, failure)
	}
}

// asyncDone completes an asynchronous operation, from any thread. gen tells a late second call from
// a call in the record's next life.
func (e *Engine) asyncDone(o *oper, gen uint64, err error) {
	e.sched.mu.Lock()
	again := o.gen != gen || o.signaled
	if !again {
		o.signaled = true
		delete(e.sched.flying, o)
	}
	e.sched.mu.Unlock()
	if again {
		e.cfg.Logger.Error().Msg("an asynchronous operation completed twice")
		return
	}
	e.complete(o, err)
}

// complete takes in that o is complete, from a goroutine that is not the worker that ran it.
func (e *Engine) complete(o *oper, err error) {
	failure := opError(o, err)
	var out outbox
	e.sched.mu.Lock()
	if o.inline {
		e.absorb() // o itself may be in the inbox still
	}
	e.done(o, failure)
	e.collect(&out)
	next := e.following()
	e.leave(&out)
	if next != nil {
		e.runBegun(next, 1)
	}
}

// issued takes in that the work of o is on its device's queue.
func (e *Engine) issued(o *oper, event Event) {
	var out outbox
	e.sched.mu.Lock()
	if o.queued() && !o.signaled {
		e.sched.core.Issued(&o.Op, event)
	}
	e.leave(&out)
}

// outbox collects the work that waits for the release of sched.mu: waking costs microseconds, and
// freeing may be long.
type outbox struct {
	woken *waiter
	freed core.List // records
	wake  *worker
	open  bool   // workers of the processor have cores again, so pushes must wake them
	seen  uint64 // count of the inbox at the last look
}

func (out *outbox) add(w *worker) {
	if w != nil {
		w.next, out.wake = out.wake, w
	}
}

// leave finishes a change of the core and releases sched.mu, which is held.
func (e *Engine) leave(out *outbox) {
	e.collect(out)
	e.chooseWakes(out, false)
	e.sched.mu.Unlock()
	e.deliver(out)
	if e.cfg.Naive {
		e.drive()
	}
}

// done tells the core that the body of o is complete. sched.mu is held.
func (e *Engine) done(o *oper, failure *OpError) {
	if failure == nil {
		e.sched.core.Done(&o.Op, nil)
		return
	}
	e.sched.core.Done(&o.Op, failure)
}

// collect moves ready operations to the queues of the pools, and retired ones and woken waiters to
// out. It follows every change of the core before sched.mu, which is held, is released.
func (e *Engine) collect(out *outbox) {
	c := &e.sched.core
	if op := c.Ready(); op != nil {
		pools := *e.pools.Load()
		for ; op != nil; op = c.Ready() {
			o := operOf(op)
			pool := pools[o.pool]
			if pool == e.wide {
				r := o.spec.rank
				o.turn = e.narrow.popped[r] + uint32(e.narrow.ready[r].Len())
			}
			pool.push(o)
			if pool.lane {
				out.add(pool.unparkLast())
			}
		}
	}
	e.free(out)
	for w := c.Woken(); w != nil; w = c.Woken() {
		out.waken(waiterOf(w))
	}
	if c.Live() == 0 && e.sched.idlers != nil && e.inbox.empty() {
		for w := e.sched.idlers; w != nil; w = e.sched.idlers {
			e.sched.idlers = w.next
			out.waken(w)
		}
	}
}

// waken adds a waiter to be signaled.
func (out *outbox) waken(w *waiter) { w.next, out.woken = out.woken, w }

// free publishes retired operations and moves their records to out, except those whose body still
// runs. sched.mu is held.
func (e *Engine) free(out *outbox) {
	n := uint64(0)
	for op := e.sched.core.Retired(); op != nil; op = e.sched.core.Retired() {
		o := operOf(op)
		o.publish()
		o.retired = true
		n++
		if o.spec.async != nil {
			o.gen++
		}
		if o.spec.is(holds) {
			e.bytes.Add(-o.bytes)
		}
		if !o.inBody {
			out.freed.Push(op)
		}
	}
	if n > 0 {
		e.retired.Add(n)
	}
	for op := e.sched.late.Pop(); op != nil; op = e.sched.late.Pop() {
		out.freed.Push(op)
	}
}

// maxPostponed is the number of cheap operations that a worker about to run cheap ones leaves for
// later rather than wake another worker, which costs microseconds. BenchmarkQueue2 chose it.
const maxPostponed = 64

// chooseWakes chooses workers to wake for the ready operations. soon says that the caller is a
// worker of the processor that will be back within microseconds. sched.mu is held.
func (e *Engine) chooseWakes(out *outbox, soon bool) {
	n, w := e.narrow, e.wide
	first := e.wideFirst()
	if n.n > 0 && !first && e.sched.free > 0 && (!soon || n.heavy > 0 || n.n > maxPostponed) {
		if !n.spinning.CompareAndSwap(spinning, poked) {
			out.add(n.unparkLast())
		}
	}
	if first && e.sched.free >= e.cores(&w.first().spec) {
		out.add(w.unparkLast())
	}
	if shut := first || w.cores > 0 && e.sched.free == 0; shut != n.shut.Load() {
		n.shut.Store(shut)
		out.open, out.seen = !shut, e.inbox.known
	}
	if shut := w.n > 0; shut != w.shut.Load() {
		w.shut.Store(shut)
	}
}

// deliver carries out an outbox. No lock is held.
func (e *Engine) deliver(out *outbox) {
	for w := out.woken; w != nil; {
		next := w.next
		w.next = nil
		w.ch <- struct{}{}
		w = next
	}
	for w := out.wake; w != nil; {
		next := w.next
		w.next = nil
		w.wake <- struct{}{}
		w = next
	}
	if out.open && e.inbox.sent.Load() != out.seen {
		e.wakeOne(e.narrow) // pushed while the pool was shut
	}
	if out.freed.Len() == 0 {
		return
	}
	e.returned.put(&out.freed)
	e.throttle.announce(e)
}
