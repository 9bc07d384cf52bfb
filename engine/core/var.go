package core

import "iter"

// Var is the scheduling state of a variable. The zero value is an unused variable. It belongs to
// the core that its first operation is submitted to.
type Var struct {
	audit      audit   // live uses, kept under the build tag invariants only
	head, tail *Use    // queue: live uses that are not clear, in the order of submission
	writer     *Use    // clear live write, nil if there is none
	readers    int     // number of clear live reads; 0 while writer is set
	taken      uint64  // uses submitted so far
	writes     uint64  // writes retired so far
	final      *Use    // last retired use after which no live one was left; compared, never followed
	order      *order  // kept once a queued operation has used the variable, nil before
	waiters    *Waiter // waiters for more than writes writes, the last Await first
	poison     *Poison // nil while the value is good
}

// Poison is the state of a variable whose value is not the one that the program asked for. It is
// immutable.
type Poison struct {
	Cause  error // first failure on the way to the variable
	Intact bool  // only skipped writes: the value is an old one
}

// Waiter waits until a number of writes of a variable are retired. The driver sets Writes and
// embeds a Waiter in a record of its own.
type Waiter struct {
	next   *Waiter // in Var.waiters or Core.woken
	Writes uint64  // writes of the variable, counted from its beginning
}

// Poison returns the state after all operations retired so far, nil for a good value.
func (v *Var) Poison() *Poison { return v.poison }

// Taken returns the number of uses submitted so far.
func (v *Var) Taken() uint64 { return v.taken }

// Writes returns the number of writes retired so far, skipped ones included.
func (v *Var) Writes() uint64 { return v.writes }

// Quiet reports whether no submitted operation that is not retired uses v.
func (v *Var) Quiet() bool { return v.head == nil && v.writer == nil && v.readers == 0 }

// Writer returns the operation with the clear live write of v, nil if there is none.
func (v *Var) Writer() *Op {
	if v.writer == nil {
		return nil
	}
	return v.writer.op
}

// Pending lists the uses of v that are not clear, in their order.
func (v *Var) Pending() iter.Seq[*Use] {
	return func(yield func(*Use) bool) {
		for u := v.head; u != nil; u = u.next {
			if !yield(u) {
				return
			}
		}
	}
}

// Waiters lists the waiters of v.
func (v *Var) Waiters() iter.Seq[*Waiter] {
	return func(yield func(*Waiter) bool) {
		for w := v.waiters; w != nil; w = w.next {
			if !yield(w) {
				return
			}
		}
	}
}

// admit makes u the clear live use that it asks for if no clear live use conflicts with it.
func (v *Var) admit(u *Use) bool {
	if v.writer != nil {
		return false
	}
	if u.Mode == Read {
		v.readers++
		return true
	}
	if v.readers > 0 {
		return false
	}
	v.writer = u
	return true
}

// append puts u, which is not clear, at the end of the queue.
func (v *Var) append(u *Use) {
	u.next = nil
	if v.tail == nil {
		v.head = u
	} else {
		v.tail.next = u
	}
	v.tail = u
}
