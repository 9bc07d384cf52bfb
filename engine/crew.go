package engine

import (
	"sync"
	"sync/atomic"

	"gomx/engine/core"
)

// crewID is the index of a crew in Engine.crews.
type crewID uint16

// crew is a queue of ready operations and the workers that work it off: the workers of the processor, the one of wide kernels, or the one of a lane of another device.
type crew struct {
	id crewID

	// Guarded by Engine.sched.mu.
	ready  [bands]core.List // by rank
	n      int              // ready operations
	popped [bands]uint32    // operations taken
	heavy  int              // those that are not cheap
	lane   bool             // needs no core of the processor
	cores  int              // cores that a wide operation computes on

	// What pushers look at to see whether somebody must be woken: how many workers are parked, how many will soon look at the inbox by themselves,
	// and whether waking is of no use because there are no cores.
	idle  atomic.Int32
	watch atomic.Int32
	shut  atomic.Bool
	// spinning is the state of the worker that watches instead of parking.
	spinning atomic.Int32

	parked struct {
		mu   sync.Mutex
		list []*worker
	}
}

// start starts a worker of c, or leaves that to Start when the engine is stopped. push.mu is held, or nobody knows the engine yet.
func (e *Engine) start(c *crew, index int) {
	w := &worker{e: e, crew: c, index: index, wake: make(chan struct{}, 1)}
	c.watch.Add(1)
	e.recruit(w)
	if !e.push.stopped {
		e.workers.Add(1)
		go w.main()
	}
}

// recruit adds w to the members. push.mu is held, or nobody knows the engine yet.
func (e *Engine) recruit(w *worker) {
	all := append([]*worker(nil), e.team()...)
	all = append(all, w)
	e.members.Store(&all)
}

// team returns all workers.
func (e *Engine) team() []*worker {
	if p := e.members.Load(); p != nil {
		return *p
	}
	return nil
}

// enlist gives c its id. push.mu is held, or nobody knows the engine yet.
func (e *Engine) enlist(c *crew) *crew {
	var crews []*crew
	if old := e.crews.Load(); old != nil {
		crews = append(crews, *old...)
	}
	c.id = crewID(len(crews))
	crews = append(crews, c)
	e.crews.Store(&crews)
	return c
}

// crew returns who runs s, starting a worker where there is none yet. push.mu is held.
func (e *Engine) crew(s *spec) *crew {
	switch {
	case e.cfg.Naive || e.push.closed:
		return e.callers
	case !s.is(host):
		c := e.push.lanes[s.laneOf()]
		if c == nil {
			c = e.enlist(&crew{lane: true})
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
func (c *crew) push(o *oper) {
	c.ready[o.spec.rank].Push(&o.Op)
	c.n++
	if !o.spec.is(cheap) {
		c.heavy++
	}
}

// first returns the operation that pop would take; there must be one.
func (c *crew) first() *oper {
	for i := range c.ready {
		if o := c.ready[i].First(); o != nil {
			return operOf(o)
		}
	}
	return nil
}

// pop takes the next operation, nil if there is none.
func (c *crew) pop() *oper {
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

// park puts w where those who have work look for it.
func (c *crew) park(w *worker) {
	c.parked.mu.Lock()
	c.parked.list = append(c.parked.list, w)
	c.idle.Add(1)
	c.watch.Add(-1)
	c.parked.mu.Unlock()
}

// unpark takes w back and returns false if somebody has done so before: then a token is on its way to w.wake.
func (c *crew) unpark(w *worker) bool {
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

// unparkLast takes the worker that was parked last, nil if there is none. The caller must send to its wake.
func (c *crew) unparkLast() *worker {
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

// unparked counts one that is being woken among those that watch, so that nobody else is woken in its place.
func (c *crew) unparked() {
	c.idle.Add(-1)
	c.watch.Add(1)
}

// needsWaking reports whether a push to c has to wake somebody.
func (c *crew) needsWaking() bool {
	return c.watch.Load() == 0 && c.idle.Load() > 0 && !c.shut.Load()
}
