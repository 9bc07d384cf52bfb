package engine

// core is the pure scheduling core: it knows which operation waits for which and nothing of goroutines, locks and clocks.
// A driver tells it three things, submit, issued and done, one at a time, and after each takes what is in ready and retired.
//
// Each variable has a queue of accesses in push order. An access is clear when no conflicting access before it is live (two reads never conflict).
// An operation of the host becomes ready when all its accesses are clear, so its inputs are complete and their errors known: it is run, or skipped.
// A queued operation becomes ready earlier, when the conflicting accesses before it are issued or retired (see issueOrder), and is retired only when it
// is done and clear. So operations are retired in an order in which a serial program could have run them, and errors travel along that order.
//
// Invariants:
//  1. an operation is handed out in ready at most once, and is in retired exactly once, after every operation it depends on;
//  2. q.writer is set only while q.readers is zero;
//  3. the first access in a queue conflicts with a clear live access of that variable.
type core struct {
	live     int  // submitted and not retired
	ready    list // to be run by the driver
	retired  list // finished with
	woken    *waiter
	poisoned int      // variables that became poisoned and were not cured
	failed   uint64   // operations that failed
	skipped  uint64   // and that were skipped
	first    *OpError // the first failure since the driver last took it

	due     list // queued operations whose turn has come
	settled list // done or skipped, and clear: to be retired
}

// queue is the scheduling state of a variable.
type queue struct {
	head, tail *access // accesses that are not clear, in push order
	writer     *access // the clear live write
	readers    int     // clear live reads
	taken      uint64  // accesses submitted
	writes     uint64  // writes retired
	order      *issueOrder
}

// waiter is somebody who waits until a number of writes of a variable are complete.
type waiter struct {
	next   *waiter
	v      *Var
	writes uint64
	ch     chan struct{}
}

// submit takes in an operation that was pushed after all those submitted before.
func (c *core) submit(o *oper) {
	c.live++
	n := o.n + 1 // one more, so that nothing fires before the last access is in
	o.unclear = n
	if o.queued {
		o.ungranted = n
	}
	acc := o.acc()
	for i := range acc {
		a := &acc[i]
		a.op, a.passed = o, false
		q := &a.v.q
		q.taken++
		if o.queued && q.order == nil {
			q.order = newIssueOrder(q)
		}
		if a.clear = q.head == nil && q.admit(a); a.clear {
			o.unclear--
		} else {
			q.append(a)
		}
		if q.order != nil {
			c.arrive(q, a)
		}
	}
	if o.queued {
		c.granted(o)
	}
	c.cleared(o)
	c.settle()
}

// done takes in that the body of a ready operation is complete; failure is nil when it succeeded.
func (c *core) done(o *oper, failure *OpError) {
	o.failure, o.finished = failure, true
	if o.unclear == 0 {
		c.settled.push(o)
		c.settle()
	}
}

// settle decides about what is due and retires what is settled, and what that makes due and settles in turn.
// It is a loop because chains of skipped operations may be long.
func (c *core) settle() {
	for {
		if o := c.due.pop(); o != nil {
			c.decide(o)
		} else if o := c.settled.pop(); o != nil {
			c.retire(o)
		} else {
			return
		}
	}
}

// cleared counts one clear access of o, or the end of its submission.
func (c *core) cleared(o *oper) {
	o.unclear--
	if o.unclear > 0 {
		return
	}
	switch {
	case o.finished:
		c.settled.push(o)
	case !o.queued:
		c.decide(o)
	}
}

// granted counts one access of o that may be issued, or the end of its submission.
// The decision is put off: what grants the access may be about to clear it as well, and to poison it.
func (c *core) granted(o *oper) {
	if !o.queued {
		return
	}
	o.ungranted--
	if o.ungranted == 0 {
		c.due.push(o)
	}
}

// decide hands out an operation whose turn has come, or skips it when an input is known to be poisoned.
func (c *core) decide(o *oper) {
	if o.inline {
		return // runs already: it started on variables that nothing else used
	}
	if o.unclear == 0 && c.poisoned > 0 {
		o.inherited = inherited(o)
	}
	if o.inherited == nil || o.spec.is(skipless) {
		c.ready.push(o)
		return
	}
	o.skipped, o.finished = true, true
	c.settled.push(o)
}

// inherited returns the first cause among what o reads and updates.
func inherited(o *oper) *OpError {
	acc := o.acc()
	for i := range acc {
		a := &acc[i]
		if a.mode == Overwrite {
			continue
		}
		if p := a.v.poisoned(); p != nil {
			return p.cause
		}
	}
	return nil
}

// retire takes o out of the queues of its variables, settles their errors and lets those behind it advance.
func (c *core) retire(o *oper) {
	if o.queued && !o.skipped && o.inherited == nil && c.poisoned > 0 {
		o.inherited = inherited(o) // an input failed after o was issued
	}
	switch {
	case o.failure != nil:
		c.failed++
		if c.first == nil {
			c.first = o.failure
		}
	case o.skipped:
		c.skipped++
	}
	acc := o.acc()
	for i := range acc {
		a := &acc[i]
		v := a.v
		q := &v.q
		if q.order != nil {
			c.pass(q, a)
			q.order.forget(o)
		}
		if a.mode == Read {
			q.readers--
			if q.readers > 0 {
				continue
			}
		} else {
			c.write(o, a)
			q.writer = nil
		}
		if q.head != nil {
			c.advance(q)
		} else {
			v.publishQuiet(q.taken)
		}
	}
	c.live--
	c.retired.push(o)
}

// advance clears the accesses at the head of q that may follow.
func (c *core) advance(q *queue) {
	for a := q.head; a != nil && q.admit(a); a = q.head {
		q.head = a.next
		if q.head == nil {
			q.tail = nil
		}
		a.clear = true
		c.cleared(a.op)
	}
}

// admit makes a clear if no clear live access conflicts with it.
func (q *queue) admit(a *access) bool {
	if q.writer != nil {
		return false
	}
	if a.mode == Read {
		q.readers++
		return true
	}
	if q.readers > 0 {
		return false
	}
	q.writer = a
	return true
}

func (q *queue) append(a *access) {
	a.next = nil
	if q.tail == nil {
		q.head = a
	} else {
		q.tail.next = a
	}
	q.tail = a
}

// write settles what the retired operation o did to the variable of a and signals those who wait for it.
func (c *core) write(o *oper, a *access) {
	v := a.v
	if o.skipped || o.inherited != nil || o.failure != nil || c.poisoned > 0 {
		c.taint(o, a)
	}
	if !o.skipped && !o.spec.is(barrier) {
		v.publishWrite()
	}
	v.q.writes++
	if v.waiters != nil {
		c.wake(v)
	}
}

// taint settles whether the variable of a, written by o, is poisoned now.
func (c *core) taint(o *oper, a *access) {
	if o.spec.is(barrier) {
		return
	}
	old := a.v.poisoned()
	var p *poison
	switch {
	case o.inherited != nil:
		p = &poison{o.inherited, o.skipped && (old == nil || old.intact)}
		if old != nil && a.mode == Update {
			p.cause = old.cause // the first of the variable's own
		}
	case o.failure != nil:
		p = &poison{o.failure, false}
	}
	a.v.publishPoison(p)
	if old == nil && p != nil {
		c.poisoned++
	} else if old != nil && p == nil {
		c.poisoned--
	}
}

// wake moves the waiters of v whose writes are complete to c.woken.
func (c *core) wake(v *Var) {
	for p := &v.waiters; *p != nil; {
		w := *p
		if w.writes > v.q.writes {
			p = &w.next
			continue
		}
		*p = w.next
		w.next, c.woken = c.woken, w
	}
}
