package core

// order is the second discipline of a variable: how far its uses have been issued. A queued
// operation may be issued when the conflicting uses before it have been issued; the host alone has
// to wait until they are complete.
//
// A use has passed when it is issued or retired. front is the first write that has not passed:
// every use before it is known, and no use behind it can pass before it does.
//
// A stamp is kept from Issued until the operation is retired, so that Waits can name the events of
// operations that run on their devices at this moment, and no others.
type order struct {
	front  *Use    // nil when every write has passed
	reads  int     // reads before front that have not passed
	write  stamp   // last write that has passed and is not retired
	behind []stamp // last read of each lane that has passed since write and is not retired
}

// stamp is the mark of an issued operation in the queue of its lane.
type stamp struct {
	op    *Op   // nil in an empty stamp
	lane  int32 // number of the queue; the event need not be waited for there
	event any   // made and understood by the device's own code
}

// newOrder returns the order of a variable that only the host has used so far.
func newOrder(v *Var) *order {
	r := &order{front: v.writer, reads: v.readers}
	if r.front == nil {
		r.front = v.head // a write, since it has to wait for reads alone
	}
	return r
}

// arrive takes in a use that was just submitted.
func (c *Core) arrive(v *Var, u *Use) {
	r := v.order
	switch {
	case r.front != nil:
	case u.Mode == Read:
		r.reads++
		c.grant(u.op)
	default:
		r.front = u
		if r.reads == 0 {
			c.grant(u.op)
		}
	}
}

// grant counts one use of o that may be issued, or the end of its submission. The decision about o
// is put off: the event that grants the use may clear it as well, and poison it.
func (c *Core) grant(o *Op) {
	if !o.rules.Is(Queued) {
		return
	}
	o.ungranted--
	if o.ungranted == 0 {
		c.due.Push(o)
	}
}

// Issued takes in that the work of a queued operation is on its device's queue, its end marked by
// event.
func (c *Core) Issued(o *Op, event any) {
	s := stamp{o, o.lane, event}
	for i := range o.uses {
		u := &o.uses[i]
		if u.passed { // Issued was called before, or the core retired o
			continue
		}
		r := u.Var.order
		if u.Mode == Read {
			r.stampRead(s)
		} else {
			r.write = s
			clear(r.behind)
			r.behind = r.behind[:0]
		}
		c.pass(u.Var, u)
	}
	c.settle()
	c.verify(o)
}

// pass takes in that u has been issued or is about to be retired.
func (c *Core) pass(v *Var, u *Use) {
	if u.passed {
		return
	}
	u.passed = true
	r := v.order
	if u.Mode == Read {
		r.reads--
	} else {
		c.advanceFront(v, u)
	}
	if r.front != nil && r.reads == 0 {
		c.grant(r.front.op)
	}
}

// advanceFront looks for the next write behind the front u, which has passed, and grants the reads
// on the way.
func (c *Core) advanceFront(v *Var, u *Use) {
	r := v.order
	next := u.next
	if u.clear {
		next = v.head // u has left the queue: the uses in it came later
	}
	r.front = nil
	for b := next; b != nil; b = b.next {
		if b.Mode != Read {
			r.front = b
			return
		}
		r.reads++
		c.grant(b.op)
	}
}

// stampRead keeps s as the last read of its lane. A lane works in order, so that the event of its
// last read stands for the earlier ones as well.
func (r *order) stampRead(s stamp) {
	for i := range r.behind {
		if r.behind[i].lane == s.lane {
			r.behind[i] = s
			return
		}
	}
	r.behind = append(r.behind, s)
}

// forget drops the marks of o, which is complete.
func (r *order) forget(o *Op) {
	if r.write.op == o {
		r.write = stamp{}
	}
	for i := range r.behind {
		if r.behind[i].op == o {
			last := len(r.behind) - 1
			r.behind[i] = r.behind[last]
			r.behind[last] = stamp{}
			r.behind = r.behind[:last]
			return
		}
	}
}

// Waits appends to buf the events that the lane of the queued operation o must wait for before the
// work of o starts.
func (c *Core) Waits(o *Op, buf []any) []any {
	for i := range o.uses {
		u := &o.uses[i]
		r := u.Var.order
		if r.write.op != nil && r.write.lane != o.lane {
			buf = append(buf, r.write.event)
		}
		if u.Mode == Read {
			continue
		}
		for _, s := range r.behind {
			if s.lane != o.lane {
				buf = append(buf, s.event)
			}
		}
	}
	return buf
}
