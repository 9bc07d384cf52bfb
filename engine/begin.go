package engine

// A cheap asynchronous operation, such as a request to a server, only begins something. Waking a
// worker would cost more than its body. So it begins on the goroutine that pushes it when nothing
// pending uses its variables, and otherwise on the goroutine that completes its last input.

// begin starts o on its pusher's goroutine and tells the scheduler that it runs. push.mu is held
// and released.
func (e *Engine) begin(o *oper) {
	o.inline, o.inBody = true, true
	o.pool = e.pools.narrow.id
	acc := o.Uses()
	for i := range acc {
		varOf(acc[i].Var).send(acc[i].Mode)
	}
	e.push.inline++
	e.push.submit(o)
	e.push.mu.Unlock()
	e.runBegun(o, 0)
}

// nextBegun takes the next operation of the processor and a core for it if it is cheap and
// asynchronous, or returns nil. It serves one goroutine at a time: a body may complete its
// operation and so come here again. mu is held.
func (s *scheduler) nextBegun() *oper {
	c := s.pools.narrow
	if c.n == 0 || s.free == 0 || s.following || s.halted || s.wideFirst() {
		return nil
	}
	o := c.first()
	if !o.spec.is(cheap) || o.spec.async == nil {
		return nil
	}
	c.drop(o)
	s.free--
	s.following = true
	o.run.Worker = -1
	o.inBody = true
	return o
}

// runBegun runs the body of o, for which a number of cores has been taken.
func (e *Engine) runBegun(o *oper, cores int) {
	e.perform(func(o *oper, err error) {
		failure := opError(o, err)
		var out outbox
		e.sched.mu.Lock()
		if failure != nil {
			e.sched.absorb() // o itself may be in the inbox still
		}
		if cores > 0 {
			e.sched.free += cores
			e.sched.following = false
		}
		if failure == nil && !o.signaled {
			e.sched.flying[o] = struct{}{}
		}
		e.sched.bodyReturned(o, failure)
		e.leave(&out)
	}, o)
}
