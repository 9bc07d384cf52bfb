package engine

// drive runs ready operations on the calling goroutine until there is none. A naive engine runs
// everything here, a closed one its deletions. An operation that depends on one that runs elsewhere
// is run by the goroutine that completes that.
func (e *Engine) drive() {
	for e.driveOne() {
	}
}

// driveOne runs one ready operation and returns false when there is none.
func (e *Engine) driveOne() bool {
	var out outbox
	e.sched.mu.Lock()
	e.sched.absorb()
	e.sched.collect(&out)
	var o *oper
	if !e.sched.halted {
		o = e.pools.callers.pop()
	}
	if o != nil && o.spec.async != nil {
		o.inBody = true
		e.sched.flying[o] = struct{}{}
	}
	e.sched.mu.Unlock()
	out.deliver(e)
	if o == nil {
		return false
	}
	e.perform(e.driven, o)
	return true
}

// driven takes in that the body of o has returned.
func (e *Engine) driven(o *oper, err error) {
	failure := opError(o, err)
	var out outbox
	e.sched.mu.Lock()
	e.sched.bodyReturned(o, failure)
	e.sched.collect(&out)
	e.sched.mu.Unlock()
	out.deliver(e)
}
