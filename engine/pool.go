package engine

import (
	"runtime"
	"time"
)

// maxBatch is how many cheap operations a worker takes at once: they are completed together, so it bounds how long the first waits for the last.
const maxBatch = 8

// worker is one goroutine of a crew. Its fields belong to it alone.
type worker struct {
	e     *Engine
	crew  *crew
	index int
	wake  chan struct{} // of capacity 1
	batch [maxBatch]*oper
	errs  [maxBatch]*OpError
	n     int     // operations in batch
	at    int     // the one that runs
	cores int     // taken for the batch
	away  bool    // runs an operation that is not cheap
	spun  bool    // has watched in vain since it last had something to do
	next  *worker // in the list of those to be woken
	seen  uint64  // what had been sent to the inbox when w last looked
}

// main runs until the engine is stopped or closed. A body that ends the goroutine is survived by a new one.
func (w *worker) main() {
	ended := false
	defer func() {
		if !ended {
			go w.main()
			return
		}
		w.e.workers.Done()
	}()
	if w.crew != w.e.narrow {
		runtime.LockOSThread()
	}
	w.runBatch()
	for w.advance() {
		w.runBatch()
	}
	ended = true
}

// advance completes the batch that has run and takes another; it waits while there is nothing to do and returns false when the engine is stopped or closed.
func (w *worker) advance() bool {
	e, c := w.e, w.crew
	for {
		var out outbox
		e.sched.mu.Lock()
		if w.away {
			w.away = false
			c.watch.Add(1)
		}
		for i := range w.n {
			e.bodyReturned(w.batch[i], w.errs[i])
			w.batch[i], w.errs[i] = nil, nil
		}
		w.release()
		if c == e.narrow {
			e.absorbSome()
		} else {
			e.absorb()
		}
		e.collect(&out)
		if !e.sched.halted {
			w.pick()
		}
		w.away = w.n > 0 && !w.batch[0].spec.is(cheap)
		if w.away {
			c.watch.Add(-1)
		}
		e.rouseOthers(&out, w.n > 0 && !w.away)
		w.seen = e.inbox.known
		closing := e.sched.halted || e.sched.closing && w.n == 0
		spin := w.n == 0 && !closing && w.maySpin()
		if w.n == 0 && !closing && !spin {
			c.park(w)
		}
		e.sched.mu.Unlock()
		e.deliver(&out)
		switch {
		case w.away && e.inbox.sent.Load() != w.seen && c.needsWaking():
			e.rouse(c) // pushed when this worker was still expected to look
			return true
		case w.n > 0:
			return true
		case closing:
			return false
		case spin:
			w.spun = !w.spin()
		default:
			w.sleep()
			w.spun = false
		}
	}
}

// maySpin reports whether w should watch the inbox for a while before it parks: waking it would cost those who push microseconds.
// Only one worker does, not when other operations compute, and only where a processor is left for those who push. What is under way elsewhere, in a
// network for instance, takes longer than the waking, and may need the processor itself. sched.mu is held.
func (w *worker) maySpin() bool {
	e := w.e
	return !w.spun && w.crew == e.narrow && e.sched.free == e.cfg.Workers && len(e.sched.flying) == 0 && e.spins &&
		e.narrow.spinning.CompareAndSwap(0, spinning)
}

// The states of crew.spinning.
const (
	spinning = 1 + iota
	poked    // somebody made an operation ready
)

const (
	spinFor   = 200 * time.Microsecond
	spinLooks = 100  // looks between two of the clock
	spinTurns = 4000 // looks at the clock, in case it stands still as it does in tests
)

// spin watches until there may be something to do, and returns false when it has watched in vain.
func (w *worker) spin() bool {
	e, c := w.e, w.crew
	defer c.spinning.Store(0)
	start := time.Now()
	for turn := 0; turn < spinTurns && time.Since(start) < spinFor; turn++ {
		runtime.Gosched()
		for range spinLooks {
			if e.inbox.sent.Load() != w.seen || c.spinning.Load() == poked {
				return true
			}
		}
	}
	return false
}

// sleep waits until somebody has work for w, which has been parked.
func (w *worker) sleep() {
	if w.e.inbox.sent.Load() != w.seen && w.crew.unpark(w) {
		return // submitted between the last look and the parking: the pusher may have seen nobody to wake
	}
	<-w.wake
}

// rouse wakes a worker of c after a push.
func (e *Engine) rouse(c *crew) {
	if w := c.unparkLast(); w != nil {
		w.wake <- struct{}{}
		runtime.Gosched() // lets it start now: a sender that stays busy delays it by up to 100 µs
	}
}

// pick takes operations for w: several if they are cheap. sched.mu is held.
func (w *worker) pick() {
	e, c := w.e, w.crew
	if c == e.wide && !e.wideFirst() {
		c = e.narrow // rather than wake somebody else
	}
	if c.n == 0 || !w.reserve(c) {
		return
	}
	limit := 1
	if c == e.narrow {
		limit = min(maxBatch, max(1, c.n/e.cfg.Workers))
	}
	for w.n < limit {
		o := c.first()
		if w.n > 0 && !o.spec.is(cheap) {
			break
		}
		c.pop()
		w.batch[w.n] = o
		w.n++
		o.run.Worker = w.index
		if o.spec.async != nil {
			o.inBody = true
			e.sched.flying[o] = struct{}{}
		}
		if o.queued() {
			o.waits = e.sched.core.Waits(&o.Op, o.waits[:0])
		}
		if !o.spec.is(cheap) {
			break
		}
	}
	w.at, w.spun = 0, false
}

// wideFirst reports whether the turn is a wide operation's: by priority band, then by the order of becoming ready. Then no other operation of the processor may start. sched.mu is held.
func (e *Engine) wideFirst() bool {
	if e.wide.n == 0 {
		return false
	}
	if e.narrow.n == 0 {
		return true
	}
	w, n := e.wide.first(), e.narrow.first()
	r := w.spec.rank
	if r != n.spec.rank {
		return r < n.spec.rank
	}
	return int32(e.narrow.popped[r]-w.turn) >= 0
}

// reserve takes the cores that the next operation of c needs, if they are free and its turn has come. sched.mu is held.
func (w *worker) reserve(c *crew) bool {
	e := w.e
	need := 1
	switch {
	case c.lane:
		return true
	case c == e.wide:
		need = e.cores(&c.first().spec)
	case e.wideFirst():
		return false
	}
	if need > e.sched.free {
		return false
	}
	e.sched.free -= need
	w.cores = need
	if c == e.wide {
		c.cores = need
	}
	return true
}

// release gives back the cores of the batch that has run. sched.mu is held.
func (w *worker) release() {
	w.e.sched.free += w.cores
	if w.crew == w.e.wide {
		w.crew.cores = 0
	}
	w.n, w.cores = 0, 0
}

// cores returns the number of cores that the wide operation s takes.
func (e *Engine) cores(s *spec) int {
	if s.threads <= 0 {
		return e.cfg.Workers
	}
	return min(int(s.threads), e.cfg.Workers)
}

// runBatch runs the rest of the batch.
func (w *worker) runBatch() {
	for w.at < w.n {
		w.e.perform(w.batch[w.at], w.ran)
	}
}

// ran notes the end of the operation that runs. The batch is completed together.
func (w *worker) ran(o *oper, err error) {
	w.errs[w.at] = opError(o, err)
	w.at++
}
