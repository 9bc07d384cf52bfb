package core

import "fmt"

// This file recomputes the state of a core from its live uses alone. Tests compare the two after
// each event; with the build tag invariants a core does so itself after each transition and panics
// at the first difference.

// conflict reports whether the later of two uses of one variable must wait for the other.
func conflict(a, b *Use) bool { return a.Mode != Read || b.Mode != Read }

// checkVar verifies invariants 2 to 4 for one variable; live are its live uses in the order of
// submission.
func checkVar(v *Var, live []*Use) error {
	readers, writer := 0, (*Use)(nil)
	queued := v.head
	wrote := false // one of the uses before u is a write
	for i, u := range live {
		clear := i == 0 || !wrote && u.Mode == Read
		wrote = wrote || u.Mode != Read
		switch {
		case u.clear != clear:
			return fmt.Errorf("use %d of %d is clear: %v, want %v", i, len(live), u.clear, clear)
		case !clear && queued != u:
			return fmt.Errorf("use %d of %d is not at its place in the queue", i, len(live))
		case !clear:
			if u.next == nil && v.tail != u {
				return fmt.Errorf("use %d of %d ends the queue, and the tail is another", i,
					len(live))
			}
			queued = u.next
		case u.Mode == Read:
			readers++
		default:
			writer = u
		}
	}
	if queued != nil || v.head == nil && v.tail != nil {
		return fmt.Errorf("the queue holds more than the %d live uses", len(live))
	}
	if v.readers != readers || v.writer != writer {
		return fmt.Errorf("found %d clear readers and writer %p, want %d and %p", v.readers,
			v.writer, readers, writer)
	}
	if v.order != nil {
		return v.order.check(live)
	}
	return nil
}

// check verifies invariants 5 and 6 for the variable with the given live uses. It is linear in
// their number, but for the stamps.
func (r *order) check(live []*Use) error {
	front, reads := (*Use)(nil), 0
	for _, u := range live {
		if u.passed {
			if front != nil {
				return fmt.Errorf("a use behind the front has passed")
			}
			continue
		}
		if front == nil && u.Mode != Read {
			front = u
		} else if front == nil {
			reads++
		}
	}
	if r.front != front || r.reads != reads {
		return fmt.Errorf("found front %p after %d reads, want %p after %d", r.front, r.reads,
			front, reads)
	}
	return r.checkStamps(live)
}

// checkStamps verifies that stamps belong to live uses that have passed, and to one of each lane.
func (r *order) checkStamps(live []*Use) error {
	passed := func(o *Op, read bool) bool {
		for _, u := range live {
			if u.op == o && u.passed && (u.Mode == Read) == read {
				return true
			}
		}
		return false
	}
	if w := r.write.op; w != nil && !passed(w, false) {
		return fmt.Errorf("the stamp of the last write is of an operation that is not issued")
	}
	for i, s := range r.behind {
		if !passed(s.op, true) {
			return fmt.Errorf("the stamp of a read is of an operation that is not issued")
		}
		for _, other := range r.behind[:i] {
			if other.lane == s.lane {
				return fmt.Errorf("lane %d has two stamps of reads", s.lane)
			}
		}
	}
	return nil
}

// checkOp verifies invariants 1 and 4 for a live operation; before returns the live uses of the
// variable of u that were submitted before u.
func checkOp(o *Op, before func(u *Use) []*Use) error {
	unclear, ungranted := int32(0), int32(0)
	for i := range o.uses {
		u := &o.uses[i]
		if u.op != o {
			return fmt.Errorf("use %d belongs to another operation", i)
		}
		if !u.clear {
			unclear++
		}
		for _, b := range before(u) {
			if !b.passed && conflict(b, u) {
				ungranted++
				break
			}
		}
	}
	switch {
	case o.unclear != unclear:
		return fmt.Errorf("%d uses count as not clear, want %d", o.unclear, unclear)
	case o.rules.Is(Queued) && o.ungranted != ungranted:
		return fmt.Errorf("%d uses count as not granted, want %d", o.ungranted, ungranted)
	case o.finished && unclear == 0:
		return fmt.Errorf("the operation is finished and clear, but not retired")
	}
	return nil
}

// check verifies that no decision is left over.
func (c *Core) check() error {
	if c.due.n != 0 || c.due.head != nil || c.over.n != 0 || c.over.head != nil {
		return fmt.Errorf("%d operations are due and %d are over, want none", c.due.n, c.over.n)
	}
	return nil
}
