package engine

// bodyReturned completes a synchronous operation, and an asynchronous one whose body failed; other asynchronous ones are left to their done. sched.mu is held.
func (e *Engine) bodyReturned(o *oper, failure *OpError) {
	if !o.inBody {
		e.done(o, failure)
		return
	}
	o.inBody = false
	switch {
	case o.retired: // done was called before the body returned, and the record has been kept for us
		o.link, e.sched.late = e.sched.late, o
	case failure != nil && !o.signaled:
		o.signaled = true
		delete(e.sched.flying, o)
		e.done(o, failure)
	}
}

// asyncDone completes an asynchronous operation, from any thread. gen tells a late second call from the record's next life.
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

// outbox is what is to be done once sched.mu is released: waking costs microseconds, and what is freed may be large.
type outbox struct {
	woken *waiter
	freed *oper // records, linked
	wake  *worker
	open  bool   // the workers of the processor may start again what pushes bring
	seen  uint64 // what had been sent to the inbox at the last look
}

func (out *outbox) add(w *worker) {
	if w != nil {
		w.next, out.wake = out.wake, w
	}
}

// leave does the rest of a change of the core and releases sched.mu, which is held.
func (e *Engine) leave(out *outbox) {
	e.collect(out)
	e.rouseOthers(out, false)
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

// collect moves ready operations to the queues of the crews, and retired ones and woken waiters to out.
// It follows every change of the core before sched.mu, which is held, is released.
func (e *Engine) collect(out *outbox) {
	c := &e.sched.core
	if op := c.Ready(); op != nil {
		crews := *e.crews.Load()
		for ; op != nil; op = c.Ready() {
			o := operOf(op)
			crew := crews[o.crew]
			if crew == e.wide {
				r := o.spec.rank
				o.turn = e.narrow.popped[r] + uint32(e.narrow.ready[r].Len())
			}
			crew.push(o)
			if crew.lane {
				out.add(crew.unparkLast())
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
		o.gen++
		n++
		if o.spec.bytes != 0 {
			e.bytes.Add(-o.spec.bytes)
		}
		if !o.inBody {
			o.link, out.freed = out.freed, o
		}
	}
	if n > 0 {
		e.retired.Add(n)
	}
	for o := e.sched.late; o != nil; o = e.sched.late {
		e.sched.late = o.link
		o.link, out.freed = out.freed, o
	}
}

// patience is how many cheap operations a worker that is about to run cheap ones leaves for later rather than wake another, which costs microseconds.
const patience = 64

// rouseOthers chooses workers to wake for what is ready. soon says that the caller is a worker of the processor that will be back within microseconds. sched.mu is held.
func (e *Engine) rouseOthers(out *outbox, soon bool) {
	n, w := e.narrow, e.wide
	first := e.wideFirst()
	if n.n > 0 && !first && e.sched.free > 0 && (!soon || n.heavy > 0 || n.n > patience) {
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

// deliver does what is in out. No lock is held.
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
		e.rouse(e.narrow) // pushed while the crew was shut
	}
	if out.freed == nil {
		return
	}
	e.returned.put(out.freed)
	if e.throttle.waiting.Load() > 0 {
		e.throttle.release(e)
	}
}
