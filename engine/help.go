package engine

// A goroutine that waits for a variable may run cheap operations that the variable depends on:
// handing them to a worker and being woken costs many times more. It runs no other operation, or it
// would be caught in a long kernel.

// BenchmarkPushWait chose these bounds of the search.
const (
	helpDepth = 16 // links of a chain of dependences that are followed
	helpBand  = 8  // operations of a band that are looked at
)

// helpable takes a ready cheap operation that v depends on, and a core for it, or returns nil.
// mu is held.
func (s *scheduler) helpable(v *Var) *oper {
	if s.cfg.Naive || s.free == 0 || s.wideFirst() {
		return nil
	}
	for range helpDepth {
		op := v.q.Writer()
		if op == nil {
			return nil // readers are in the way, and the core does not list them
		}
		if !op.Clear() {
			v = varOf(op.Blocker())
			continue
		}
		o := operOf(op)
		if !o.spec.is(cheap) || o.spec.async != nil || o.pool != s.pools.narrow.id ||
			!s.pools.narrow.remove(o) {
			return nil
		}
		s.free--
		return o
	}
	return nil
}

// remove takes o out of the ready operations if it is among the first of its band.
func (c *pool) remove(o *oper) bool {
	if !c.ready[o.spec.rank].Remove(&o.Op, helpBand+1) {
		return false
	}
	c.n--
	c.popped[o.spec.rank]++
	return true
}

// help runs o, which helpable returned.
func (e *Engine) help(o *oper) {
	o.run.Worker = -1
	e.perform(e.helped, o)
}

// helped completes an operation that a waiting goroutine has run.
func (e *Engine) helped(o *oper, err error) {
	failure := opError(o, err)
	var out outbox
	e.sched.mu.Lock()
	e.sched.free++
	e.sched.done(o, failure)
	e.leave(&out)
}
