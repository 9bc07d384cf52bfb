package core

// Core schedules the operations of one engine. The zero value is ready for use. One goroutine at a
// time uses a core with its operations and variables.
//
// A core owns an operation from Submit until Retired hands it out, and then keeps no pointer to it.
// It owns a waiter from Await until Woken or Forget. Methods allocate memory only for failures and
// for the issue orders of variables.
type Core struct {
	live     int     // operations submitted and not retired; at least the lengths of all lists
	ready    List    // operations for Ready, in the order in which they became ready
	retired  List    // operations for Retired, in an order of a serial program
	woken    *Waiter // waiters for Woken, in no order
	poisoned int     // variables that became poisoned and were not cured
	failed   uint64  // operations whose body failed, since the beginning
	skipped  uint64  // operations skipped, since the beginning
	first    error   // first failure since TakeFirst

	// The lists of drain, empty whenever a method returns.
	due  List // queued operations that may be issued
	over List // operations that are finished and clear: to be retired
}

// Submit takes in an operation that was pushed after all those submitted before. Its time grows
// with the number of its uses, and with the number of operations that it lets be retired.
func (c *Core) Submit(o *Op) {
	c.live++
	n := int32(len(o.uses)) + 1 // one more, so that nothing fires before the last use is in
	unclear := n
	queued := o.rules.Is(Queued)
	if queued {
		o.ungranted = n
	}
	for i := range o.uses {
		u := &o.uses[i]
		u.op, u.passed = o, false
		v := u.Var
		v.taken++
		v.audit.enter(u)
		if queued && v.order == nil {
			v.order = newOrder(v)
		}
		if u.clear = v.head == nil && v.admit(u); u.clear {
			unclear--
		} else {
			v.append(u)
		}
		if v.order != nil {
			c.arrive(v, u)
		}
	}
	o.unclear = unclear
	if queued {
		c.grant(o)
	}
	c.cleared(o)
	c.settle()
	c.verify(o)
}

// Done takes in that the body of a ready operation is complete; failure is nil when it succeeded.
func (c *Core) Done(o *Op, failure error) {
	if failure != nil {
		if o.fault == nil {
			o.fault = &fault{}
		}
		o.fault.own = failure
	}
	o.finished = true
	if o.unclear == 0 {
		c.retire(o) // no list holds another: settle has emptied both
		c.settle()
	}
	c.verify(o)
}

// Ready takes the next operation whose body is to be run, nil if there is none.
func (c *Core) Ready() *Op { return c.ready.Pop() }

// Waiting returns the number of operations that Ready would hand out.
func (c *Core) Waiting() int { return c.ready.n }

// Retired takes all operations that are finished with, in an order of a serial program.
func (c *Core) Retired() List {
	list := c.retired
	c.retired = List{}
	return list
}

// Woken takes a waiter whose writes are complete, nil if there is none.
func (c *Core) Woken() *Waiter {
	w := c.woken
	if w != nil {
		c.woken, w.next = w.next, nil
	}
	return w
}

// Await makes w wait for writes of v; Woken hands it out when w.Writes of them are retired. There
// must be such a write to come.
func (c *Core) Await(v *Var, w *Waiter) { w.next, v.waiters = v.waiters, w }

// Forget undoes Await and reports whether w was still waiting.
func (c *Core) Forget(v *Var, w *Waiter) bool {
	for p := &v.waiters; *p != nil; p = &(*p).next {
		if *p == w {
			*p, w.next = w.next, nil
			return true
		}
	}
	return false
}

// Live returns the number of operations that are submitted and not retired.
func (c *Core) Live() int { return c.live }

// Counts are totals since the beginning, but for Poisoned.
type Counts struct {
	Failed   uint64 // operations whose body failed
	Skipped  uint64 // operations skipped because an input was poisoned
	Poisoned int    // variables that are poisoned at this moment, forgotten ones included
}

// Counts returns the totals.
func (c *Core) Counts() Counts { return Counts{c.failed, c.skipped, c.poisoned} }

// TakeFirst returns the first failure since the last call, nil if there was none.
func (c *Core) TakeFirst() error {
	err := c.first
	c.first = nil
	return err
}

// settle decides about operations that are due and retires operations that are over. Every change
// of the core ends with it. It leaves both lists empty; mostly they are empty before.
func (c *Core) settle() {
	if c.due.head != nil || c.over.head != nil {
		c.drain()
	}
}

// drain continues with the operations that become due or over by its own work. It is a loop because
// chains of skipped operations may be long.
func (c *Core) drain() {
	for {
		if o := c.due.Pop(); o != nil {
			c.decide(o)
		} else if o := c.over.Pop(); o != nil {
			c.retire(o)
		} else {
			return
		}
	}
}

// cleared counts one clear use of o, or the end of its submission. With the last one o is finished
// with, if its body is complete, or may run, if it had to wait for its inputs.
func (c *Core) cleared(o *Op) {
	o.unclear--
	if o.unclear > 0 {
		return
	}
	switch {
	case o.rules == 0 && !o.finished && c.poisoned == 0:
		c.ready.Push(o) // as decide would do
	case o.finished:
		c.over.Push(o)
	case !o.rules.Is(Queued):
		c.decide(o)
	}
}

// decide hands out an operation that may run, or skips it when an input is known to be poisoned.
func (c *Core) decide(o *Op) {
	if o.rules.Is(Running) {
		return
	}
	if o.unclear == 0 && c.poisoned > 0 {
		o.setInherited(inherited(o))
	}
	if o.Inherited() == nil || o.rules.Is(Always|Silent) {
		c.ready.Push(o)
		return
	}
	o.skipped, o.finished = true, true
	c.over.Push(o)
}

// retire takes o out of the queues of its variables, settles their poison and lets the uses behind
// it advance. All uses of o are clear, so none of them is in a queue: a read is one of the counted
// readers, a write is the writer. Operations that become clear and finished by this go to over.
func (c *Core) retire(o *Op) {
	if c.poisoned > 0 && o.rules.Is(Queued) && !o.skipped && o.Inherited() == nil {
		o.setInherited(inherited(o)) // an input failed after o was issued
	}
	if o.skipped || o.fault != nil {
		c.count(o)
	}
	for i := range o.uses {
		u := &o.uses[i]
		v := u.Var
		v.audit.leave(u)
		if v.order != nil {
			c.pass(v, u)
			v.order.forget(o)
		}
		if u.Mode == Read {
			v.readers--
			if v.readers > 0 {
				continue
			}
		} else {
			c.write(o, u)
			v.writer = nil
		}
		if v.head != nil {
			c.advance(v)
		} else {
			v.final = u
		}
	}
	c.live--
	c.retired.Push(o)
}

// count adds o, which was skipped or failed or has a failed input, to the totals.
func (c *Core) count(o *Op) {
	if o.skipped {
		c.skipped++
	}
	if failure := o.failure(); failure != nil {
		c.failed++
		if c.first == nil {
			c.first = failure
		}
	}
}

// advance clears the uses at the head of the queue of v that may follow: one write, or all reads
// before the next write. It restores invariant 3 after a clear use has gone.
func (c *Core) advance(v *Var) {
	for u := v.head; u != nil && v.admit(u); u = v.head {
		v.head = u.next
		if v.head == nil {
			v.tail = nil
		}
		u.clear = true
		c.cleared(u.op)
	}
}
