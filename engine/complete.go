package engine

import "gomx/engine/core"

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
		e.sched.absorb() // o itself may be in the inbox still
	}
	e.sched.done(o, failure)
	e.sched.collect(&out)
	next := e.sched.nextBegun()
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
	e.sched.collect(out)
	e.sched.chooseWakes(out, false)
	e.sched.mu.Unlock()
	out.deliver(e)
	if e.cfg.Naive {
		e.drive()
	}
}

// waken adds a waiter to be signaled.
func (out *outbox) waken(w *waiter) { w.next, out.woken = out.woken, w }

// deliver carries out the outbox of e. No lock is held.
func (out *outbox) deliver(e *Engine) {
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
		e.pools.narrow.wakeOne() // pushed while the pool was shut
	}
	if out.freed.Len() == 0 {
		return
	}
	e.returned.put(&out.freed)
	e.quota.announce()
}
