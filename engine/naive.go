package engine

// drive runs what is ready on the calling goroutine until nothing is: the whole of a naive engine, and what is left of a closed one.
// An operation that depends on one running elsewhere is run by whoever completes that.
func (e *Engine) drive() {
	for e.driveOne() {
	}
}

// driveOne runs one ready operation and returns false when there is none.
func (e *Engine) driveOne() bool {
	var out outbox
	e.sched.mu.Lock()
	e.absorb()
	e.collect(&out)
	var o *oper
	if !e.sched.halted {
		o = e.callers.pop()
	}
	if o != nil && o.spec.async != nil {
		o.inBody = true
		e.sched.flying[o] = struct{}{}
	}
	e.sched.mu.Unlock()
	e.deliver(&out)
	if o == nil {
		return false
	}
	e.perform(o, e.driven)
	return true
}

// driven takes in that the body of o has returned.
func (e *Engine) driven(o *oper, err error) {
	failure := opError(o, err)
	var out outbox
	e.sched.mu.Lock()
	e.bodyReturned(o, failure)
	e.collect(&out)
	e.sched.mu.Unlock()
	e.deliver(&out)
}
