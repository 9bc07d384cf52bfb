package engine

import (
	"sync"
	"sync/atomic"

	"gomx/engine/core"
)

// poolID is the index of a pool in Engine.pools.
type poolID uint16

// pool is a queue of ready operations and the workers that serve it. There is one for the
// processor, one for wide kernels, one for each lane of another device, and one without workers for
// operations that run on their pusher.
type pool struct {
	id poolID

	// Guarded by Engine.sched.mu.
	ready  [bands]core.List // by rank
	n      int              // ready operations
	popped [bands]uint32    // operations taken
	heavy  int              // ready operations that are not cheap
	lane   bool             // needs no core of the processor
	cores  int              // cores that a wide operation computes on

	// Pushers read these counters to decide whether to wake a worker: the number of parked workers,
	// the number of workers that will look at the inbox without being woken, and whether no core is
	// free for a woken worker.
	idle  atomic.Int32
	watch atomic.Int32
	shut  atomic.Bool
	// spinning is the state of the worker that watches the inbox instead of parking.
	spinning atomic.Int32

	parked struct {
		mu   sync.Mutex
		list []*worker
	}
}

// start starts a worker of c, or leaves that to Start when the engine is stopped. push.mu is held,
// or the engine is not yet known to others.
func (e *Engine) start(c *pool, index int) {
	w := &worker{e: e, pool: c, index: index, wake: make(chan struct{}, 1)}
	c.watch.Add(1)
	e.addWorker(w)
	if !e.push.stopped {
		e.workers.Add(1)
		go w.main()
	}
}

// addWorker adds w to the members. push.mu is held, or the engine is not yet known to others.
func (e *Engine) addWorker(w *worker) {
	all := append([]*worker(nil), e.allWorkers()...)
	all = append(all, w)
	e.members.Store(&all)
}

// allWorkers returns the workers of all pools.
func (e *Engine) allWorkers() []*worker {
	if p := e.members.Load(); p != nil {
		return *p
	}
	return nil
}

// addPool gives c its id. push.mu is held, or the engine is not yet known to others.
func (e *Engine) addPool(c *pool) *pool {
	var pools []*pool
	if old := e.pools.Load(); old != nil {
		pools = append(pools, *old...)
	}
	c.id = poolID(len(pools))
	pools = append(pools, c)
	e.pools.Store(&pools)
	return c
}

// pool returns the pool that runs operations described by s, and starts its worker if there is
// none. push.mu is held.
func (e *Engine) pool(s *spec) *pool {
	switch {
	case e.cfg.Naive || e.push.closed:
		return e.callers
	case !s.is(host):
		c := e.push.lanes[s.laneOf()]
		if c == nil {
			c = e.addPool(&pool{lane: true})
			e.push.lanes[s.laneOf()] = c
			e.start(c, e.cfg.Workers+len(e.push.lanes))
		}
		return c
	case s.is(wide):
		if !e.push.wide {
			e.push.wide = true
			e.start(e.wide, e.cfg.Workers)
		}
		return e.wide
	}
	return e.narrow
}

// push adds a ready operation.
func (c *pool) push(o *oper) {
	c.ready[o.spec.rank].Push(&o.Op)
	c.n++
	if !o.spec.is(cheap) {
		c.heavy++
	}
}

// first returns the operation that pop would take; there must be one.
func (c *pool) first() *oper {
	for i := range c.ready {
		if o := c.ready[i].First(); o != nil {
			return operOf(o)
		}
	}
	return nil
}

// pop takes the next operation, nil if there is none.
func (c *pool) pop() *oper {
	for i := range c.ready {
		if op := c.ready[i].Pop(); op != nil {
			o := operOf(op)
			c.n--
			c.popped[i]++
			if !o.spec.is(cheap) {
				c.heavy--
			}
			return o
		}
	}
	return nil
}

// park puts w on the list from which workers are woken.
func (c *pool) park(w *worker) {
	c.parked.mu.Lock()
	c.parked.list = append(c.parked.list, w)
	c.idle.Add(1)
	c.watch.Add(-1)
	c.parked.mu.Unlock()
}

// unpark takes w off the list and returns false if another goroutine has done so: then a token is
// on its way to w.wake.
func (c *pool) unpark(w *worker) bool {
	c.parked.mu.Lock()
	defer c.parked.mu.Unlock()
	for i, p := range c.parked.list {
		if p == w {
			c.parked.list = append(c.parked.list[:i], c.parked.list[i+1:]...)
			c.unparked()
			return true
		}
	}
	return false
}

// unparkLast takes the worker that was parked last off the list, nil if there is none. The caller
// must send to its wake.
func (c *pool) unparkLast() *worker {
	if c.idle.Load() == 0 {
		return nil
	}
	c.parked.mu.Lock()
	defer c.parked.mu.Unlock()
	last := len(c.parked.list) - 1
	if last < 0 {
		return nil
	}
	w := c.parked.list[last]
	c.parked.list = c.parked.list[:last]
	c.unparked()
	return w
}

// unparked counts a worker that is being woken as one that will look at the inbox, so that no
// second worker is woken for the same push.
func (c *pool) unparked() {
	c.idle.Add(-1)
	c.watch.Add(1)
}

// needsWaking reports whether a push to c has to wake somebody.
func (c *pool) needsWaking() bool {
	return c.watch.Load() == 0 && c.idle.Load() > 0 && !c.shut.Load()
}
