package engine

import "gomx/engine/core"

// The inline path runs a cheap operation on the goroutine that pushes it when nothing pending uses
// its variables. The scheduler never hears of it, unless another goroutine needs one of its
// variables while the body runs: then the operation is shared, that is, submitted as one that
// already runs. See begin for asynchronous operations.

// mayInline reports whether o may run at once: nothing pending uses its variables and none is
// poisoned. push.mu is held.
func (e *Engine) mayInline(o *oper) bool {
	s := &o.spec
	if s.is(wide|barrier|queued) || !s.is(host) || e.cfg.NoInline || e.cfg.Naive {
		return false
	}
	acc := o.Uses()
	for i := range acc {
		v := varOf(acc[i].Var)
		if !v.quiet() || (v.poison.Load() != nil && !s.is(delete_)) {
			return false
		}
	}
	return true
}

// inline runs o. push.mu is held and released.
func (e *Engine) inline(o *oper) {
	o.inline = true
	acc := o.Uses()
	for i := range acc {
		varOf(acc[i].Var).running = o
	}
	if o.link = e.push.live; o.link != nil {
		o.link.prev = o
	}
	e.push.live = o
	e.push.inline++
	e.push.mu.Unlock()

	e.perform(e.inlineDone, o)
}

// inlineDone completes o, through the scheduler if o has been shared or has failed.
func (e *Engine) inlineDone(o *oper, err error) {
	e.push.mu.Lock()
	if err != nil && !o.shared {
		e.push.share(o)
	}
	if o.shared {
		e.push.mu.Unlock()
		e.complete(o, err)
		return
	}
	e.push.unlink(o)
	acc := o.Uses()
	for i := range acc {
		v := varOf(acc[i].Var)
		v.running = nil
		if acc[i].Mode != core.Read {
			v.version.Add(1)
		}
	}
	o.reset()
	e.push.free = append(e.push.free, o)
	e.push.mu.Unlock()
}

// share tells the scheduler of an operation that runs inline. mu is held.
func (p *pushers) share(o *oper) {
	o.shared = true
	p.unlink(o)
	acc := o.Uses()
	for i := range acc {
		v := varOf(acc[i].Var)
		v.running = nil
		v.send(acc[i].Mode)
	}
	p.submit(o)
}

// unlink takes o out of the list of inline operations. mu is held.
func (p *pushers) unlink(o *oper) {
	if o.prev == nil {
		p.live = o.link
	} else {
		o.prev.link = o.link
	}
	if o.link != nil {
		o.link.prev = o.prev
	}
	o.prev, o.link = nil, nil
}
