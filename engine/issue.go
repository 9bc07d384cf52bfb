package engine

// issueOrder is the second queue discipline of a variable, kept once a queued operation has used it: how far the accesses have been issued.
// A queue of a device runs its work in order, and queues wait for events of each other, so a queued operation may be issued when the conflicting
// accesses before it are issued; the host alone has to wait until they are complete.
//
// Accesses are said to have passed when they are issued or retired. front is the first write that has not; everything before it is known, nothing after it can pass before it does.
type issueOrder struct {
	front  *access
	reads  int     // reads before front that have not passed
	write  stamp   // the last write that has passed and is not retired
	behind []stamp // reads after write that have passed and are not retired, at most one per lane: the last
}

// stamp is the mark of an issued operation in the queue of its lane.
type stamp struct {
	op    *oper
	lane  Lane
	event Event
}

// newIssueOrder returns the order of a variable that only the host has used so far.
func newIssueOrder(q *queue) *issueOrder {
	r := &issueOrder{front: q.writer, reads: q.readers}
	for a := q.head; a != nil && r.front == nil; a = a.next {
		if a.mode == Read {
			r.reads++
		} else {
			r.front = a
		}
	}
	return r
}

// arrive takes in an access that was just submitted.
func (c *core) arrive(q *queue, a *access) {
	r := q.order
	switch {
	case r.front != nil:
	case a.mode == Read:
		r.reads++
		c.granted(a.op)
	default:
		r.front = a
		if r.reads == 0 {
			c.granted(a.op)
		}
	}
}

// issued takes in that the work of a queued operation is on its device's queue, its end marked by event.
func (c *core) issued(o *oper, event Event) {
	s := stamp{o, o.spec.laneOf(), event}
	acc := o.acc()
	for i := range acc {
		a := &acc[i]
		if a.passed {
			continue
		}
		r := a.v.q.order
		if a.mode == Read {
			r.stampRead(s)
		} else {
			r.write = s
			clear(r.behind)
			r.behind = r.behind[:0]
		}
		c.pass(&a.v.q, a)
	}
	c.settle()
}

// pass takes in that a has been issued or is about to be retired.
func (c *core) pass(q *queue, a *access) {
	if a.passed {
		return
	}
	a.passed = true
	r := q.order
	if a.mode == Read {
		r.reads--
	} else {
		c.advanceFront(q, a)
	}
	if r.front != nil && r.reads == 0 {
		c.granted(r.front.op)
	}
}

// advanceFront looks for the next write behind the front a, which has passed, and grants the reads on the way.
func (c *core) advanceFront(q *queue, a *access) {
	r := q.order
	next := a.next
	if a.clear {
		next = q.head // a has left the queue: what is in it came later
	}
	r.front = nil
	for b := next; b != nil; b = b.next {
		if b.mode != Read {
			r.front = b
			return
		}
		r.reads++
		c.granted(b.op)
	}
}

func (r *issueOrder) stampRead(s stamp) {
	for i := range r.behind {
		if r.behind[i].lane == s.lane {
			r.behind[i] = s
			return
		}
	}
	r.behind = append(r.behind, s)
}

// forget drops the marks of o, which is complete.
func (r *issueOrder) forget(o *oper) {
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

// waits appends to buf the events that the lane of o must wait for before the work of o starts.
func (c *core) waits(o *oper, buf []Event) []Event {
	lane := o.spec.laneOf()
	acc := o.acc()
	for i := range acc {
		a := &acc[i]
		r := a.v.q.order
		if r.write.op != nil && r.write.lane != lane {
			buf = append(buf, r.write.event)
		}
		if a.mode == Read {
			continue
		}
		for _, s := range r.behind {
			if s.lane != lane {
				buf = append(buf, s.event)
			}
		}
	}
	return buf
}
