package engine

import (
	"runtime"
	"sync"
	"sync/atomic"

	"gomx/engine/core"
)

// pools are the queues of ready operations of an engine and the workers that serve them.
type pools struct {
	narrow  *pool // operations of the processor that take one core
	wide    *pool // operations of the processor that take several
	callers *pool // operations that their pushers run; it has no workers

	all     atomic.Pointer[[]*pool]   // by id
	members atomic.Pointer[[]*worker] // of all pools
	running sync.WaitGroup            // goroutines of workers
	spins   bool                      // a worker that watches leaves a processor to pushers

	// Guarded by pushers.mu.
	lanes       map[Lane]*pool // of devices other than the processor
	wideStarted bool           // the worker of wide has been started
	stopped     bool           // new workers are left to Start
}

// init makes the pools of the processor for e, without workers.
func (p *pools) init() {
	p.spins = runtime.GOMAXPROCS(0) > 1
	p.lanes = map[Lane]*pool{}
	p.callers, p.narrow, p.wide = p.add(&pool{}), p.add(&pool{}), p.add(&pool{})
}

// poolID is the index of a pool in pools.all.
type poolID uint16

// pool is a queue of ready operations and the workers that serve it. There is one for the
// processor, one for wide kernels, one for each lane of another device, and one without workers for
// operations that run on their pusher.
type pool struct {
	id poolID

	// Guarded by scheduler.mu.
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

// start starts a worker of c for e, or leaves that to Start when the engine is stopped. pushers.mu
// is held, or the engine is not yet known to others.
func (p *pools) start(e *Engine, c *pool, index int) {
	w := &worker{e: e, pool: c, index: index, wake: make(chan struct{}, 1)}
	c.watch.Add(1)
	p.addWorker(w)
	if !p.stopped {
		p.running.Add(1)
		go w.main()
	}
}

// addWorker adds w to the members. pushers.mu is held, or the engine is not yet known to others.
func (p *pools) addWorker(w *worker) {
	all := append([]*worker(nil), p.workers()...)
	all = append(all, w)
	p.members.Store(&all)
}

// workers returns the workers of all pools.
func (p *pools) workers() []*worker {
	if all := p.members.Load(); all != nil {
		return *all
	}
	return nil
}

// add gives c its id. pushers.mu is held, or the engine is not yet known to others.
func (p *pools) add(c *pool) *pool {
	var pools []*pool
	if old := p.all.Load(); old != nil {
		pools = append(pools, *old...)
	}
	c.id = poolID(len(pools))
	pools = append(pools, c)
	p.all.Store(&pools)
	return c
}

// of returns the pool of e whose workers run operations described by s, and starts its worker if
// there is none. pushers.mu is held.
func (p *pools) of(e *Engine, s *spec) *pool {
	switch {
	case !s.is(host):
		c := p.lanes[s.laneOf()]
		if c == nil {
			c = p.add(&pool{lane: true})
			p.lanes[s.laneOf()] = c
			p.start(e, c, e.cfg.Workers+len(p.lanes))
		}
		return c
	case s.is(wide):
		if !p.wideStarted {
			p.wideStarted = true
			p.start(e, p.wide, e.cfg.Workers)
		}
		return p.wide
	}
	return p.narrow
}

// end wakes all workers, which find that they are to end, and waits for them.
func (p *pools) end() {
	p.narrow.spinning.CompareAndSwap(spinning, poked)
	for _, c := range *p.all.Load() {
		for w := c.unparkLast(); w != nil; w = c.unparkLast() {
			w.wake <- struct{}{}
		}
	}
	p.running.Wait()
}

// push adds a ready operation.
func (c *pool) push(o *oper) {
	c.ready[o.spec.rank].Push(&o.Op)
	c.n++
	if !o.spec.is(cheap) {
		c.heavy++
	}
}

// first returns the operation that pop would take, nil if there is none.
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
	o := c.first()
	if o != nil {
		c.drop(o)
	}
	return o
}

// drop takes out o, which first has returned.
func (c *pool) drop(o *oper) {
	c.ready[o.spec.rank].Pop()
	c.n--
	c.popped[o.spec.rank]++
	if !o.spec.is(cheap) {
		c.heavy--
	}
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

// wakeOne wakes a worker of c after a push.
func (c *pool) wakeOne() {
	if w := c.unparkLast(); w != nil {
		w.wake <- struct{}{}
		runtime.Gosched() // lets it start now: a sender that stays busy delays it by up to 100 µs
	}
}
