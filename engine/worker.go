package engine

import (
	"runtime"
	"time"

	"gomx/engine/core"
)

// maxBatch is the number of cheap operations that a worker takes at once. They are completed
// together, so it bounds the time for which the first waits for the last. BenchmarkQueue1 and
// BenchmarkQueue2 chose it: 1 costs twice as much, 16 gains nothing.
const maxBatch = 8

// worker is one goroutine of a pool. Its fields belong to it alone.
type worker struct {
	e     *Engine
	pool  *pool
	index int
	wake  chan struct{} // of capacity 1
	batch [maxBatch]*oper
	errs  [maxBatch]*OpError
	n     int     // operations in batch
	at    int     // index of the operation that runs
	cores int     // number taken for the batch
	away  bool    // an operation that is not cheap runs
	spun  bool    // spin has ended without work since the last operation
	next  *worker // in a list of workers to be woken
	seen  uint64  // count of the inbox at the last look
	back  []*oper // unused records that the recycler has not got yet; none while w sleeps
}

// maxBack is the number of records that a worker gives back together, because each time takes a
// lock. BenchmarkQueue1 chose it.
const maxBack = 16

// main runs until the engine is stopped or closed. When a body ends the goroutine, a new one goes
// on with the batch.
func (w *worker) main() {
	ended := false
	defer func() {
		if !ended {
			go w.main()
			return
		}
		w.e.pools.running.Done()
	}()
	if w.pool != w.e.pools.narrow {
		runtime.LockOSThread()
	}
	w.runBatch()
	for w.advance() {
		w.runBatch()
	}
	ended = true
}

// advance completes the batch that has run and takes another. It waits while there is nothing to
// do, and returns false when the engine is stopped or closed.
func (w *worker) advance() bool {
	e, c := w.e, w.pool
	for {
		var out outbox
		e.sched.mu.Lock()
		if w.away {
			w.away = false
			c.watch.Add(1)
		}
		for i := range w.n {
			e.sched.bodyReturned(w.batch[i], w.errs[i])
			w.batch[i], w.errs[i] = nil, nil
		}
		w.release()
		if c == e.pools.narrow {
			e.sched.absorbWindow()
		} else {
			e.sched.absorb()
		}
		e.sched.collect(&out)
		if !e.sched.halted {
			w.pick()
		}
		w.away = w.n > 0 && !w.batch[0].spec.is(cheap)
		if w.away {
			c.watch.Add(-1)
		}
		e.sched.chooseWakes(&out, w.n > 0 && !w.away)
		w.seen = e.inbox.known
		closing := e.sched.halted || e.sched.closing && w.n == 0
		spin := w.n == 0 && !closing && w.maySpin()
		if w.n == 0 && !closing && !spin {
			c.park(w)
		}
		e.sched.mu.Unlock()
		w.deliver(&out)
		switch {
		case w.away && e.inbox.sent.Load() != w.seen && c.needsWaking():
			c.wakeOne() // pushed when this worker was still expected to look
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

// deliver is outbox.deliver for w. It keeps a few records while w runs cheap operations.
func (w *worker) deliver(out *outbox) {
	retired := out.freed.Len() > 0
	for o := out.freed.First(); o != nil; o = o.Next() {
		r := operOf(o)
		r.reset()
		w.back = append(w.back, r)
	}
	out.freed = core.List{}
	if len(w.back) >= maxBack || w.n == 0 || w.away {
		w.e.returned.give(w.back)
		w.back = w.back[:0]
	}
	out.deliver(w.e)
	if retired {
		w.e.quota.announce()
	}
}

// maySpin reports whether w should watch the inbox for a while before it parks, because waking a
// parked worker costs the pusher microseconds. Only one worker watches, not while other operations
// compute, and only where a processor is left for pushers. Asynchronous operations take longer than
// a wake-up and may need the processor themselves. sched.mu is held.
func (w *worker) maySpin() bool {
	e := w.e
	return !w.spun && w.pool == e.pools.narrow && e.sched.free == e.cfg.Workers &&
		len(e.sched.flying) == 0 && e.pools.spins &&
		e.pools.narrow.spinning.CompareAndSwap(0, spinning)
}

// The states of pool.spinning.
const (
	spinning = 1 + iota
	poked    // an operation became ready
)

// BenchmarkGap chose the time and the number of looks: after a pause of up to spinFor an operation
// ends 0.7 to 1.5 µs after its push, later 13 µs, the cost of a wake-up. A longer time serves rarer
// operations and keeps a core busy for nothing; between 10 and 1000 looks there is no difference.
// spinTurns is no tuning: it ends the loop where the clock stands still, as it does in tests.
const (
	spinFor   = 200 * time.Microsecond
	spinLooks = 100  // looks at the inbox between two looks at the clock
	spinTurns = 4000 // most looks at the clock
)

// spin watches until there may be something to do, and returns false when the time is over.
func (w *worker) spin() bool {
	e, c := w.e, w.pool
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

// sleep blocks w, which has been parked, until it is woken.
func (w *worker) sleep() {
	if w.e.inbox.sent.Load() != w.seen && w.pool.unpark(w) {
		// submitted between the last look and the parking: the pusher may have seen no worker to
		// wake
		return
	}
	<-w.wake
}

// pick takes operations for w: several if they are cheap. sched.mu is held.
func (w *worker) pick() {
	e, c := w.e, w.pool
	if c == e.pools.wide && !e.sched.wideFirst() {
		c = e.pools.narrow // rather than wake somebody else
	}
	if c.n == 0 || !w.reserve(c) {
		return
	}
	limit := 1
	if c == e.pools.narrow {
		limit = min(maxBatch, max(1, c.n/e.cfg.Workers))
	}
	for w.n < limit {
		o := c.first()
		if w.n > 0 && !o.spec.is(cheap) {
			break
		}
		c.drop(o)
		w.batch[w.n] = o
		w.n++
		o.run.Worker = w.index
		if o.spec.async != nil {
			o.inBody = true
			e.sched.flying[o] = struct{}{}
		}
		if o.queued() {
			d := o.device()
			d.waits = e.sched.core.Waits(&o.Op, d.waits[:0])
		}
		if !o.spec.is(cheap) {
			break
		}
	}
	w.at, w.spun = 0, false
}

// reserve takes the cores that the next operation of c needs, if they are free and no other
// operation comes first. sched.mu is held.
func (w *worker) reserve(c *pool) bool {
	e := w.e
	need := 1
	switch {
	case c.lane:
		return true
	case c == e.pools.wide:
		need = e.sched.cores(&c.first().spec)
	case e.sched.wideFirst():
		return false
	}
	if need > e.sched.free {
		return false
	}
	e.sched.free -= need
	w.cores = need
	if c == e.pools.wide {
		c.cores = need
	}
	return true
}

// release gives back the cores of the batch that has run. sched.mu is held.
func (w *worker) release() {
	w.e.sched.free += w.cores
	if w.pool == w.e.pools.wide {
		w.pool.cores = 0
	}
	w.n, w.cores = 0, 0
}

// runBatch runs the rest of the batch.
func (w *worker) runBatch() {
	ran := w.ran
	for w.at < w.n {
		w.e.perform(ran, w.batch[w.at:w.n]...)
	}
}

// ran notes the end of the operation that runs. The batch is completed together.
func (w *worker) ran(o *oper, err error) {
	if err != nil {
		w.errs[w.at] = opError(o, err)
	}
	w.at++
}
