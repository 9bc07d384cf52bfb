package engine

import "sync/atomic"

// Var is a variable: a tag for something that operations read and write, such as the memory of an array. The engine never looks at the thing itself.
// Operations that use the same variable run in the order of their pushes, except that reads between two writes run together.
// Variables are made by Engine.NewVar and must be used with that engine only.
//
// Invariants:
//  1. quietAt never exceeds sent; they are equal only when the scheduler knows of nothing pending that uses the variable;
//  2. running is set only while they are equal;
//  3. writes complete in the order of their pushes.
type Var struct {
	// Guarded by Engine.push.mu; eng never changes.
	sent       uint64 // uses that went to the scheduler
	sentWrites uint64 // writes among them
	running    *oper  // the operation that uses the variable inline on its pusher's goroutine, unknown to the scheduler
	stamp      uint64 // the last push that used the variable, and which of its uses it was: finds duplicates
	slot       int32
	deleted    bool
	eng        *Engine
	_          [16]byte // what pushers write and what workers write is kept on different cache lines

	// poison and the following are written by whoever completes an operation and read by anyone.
	poison atomic.Pointer[poison]
	q      queue // guarded by Engine.sched.mu

	quietAt atomic.Uint64 // value of sent up to which everything was complete when the variable was last unused
	version atomic.Uint64
	waiters *waiter // guarded by Engine.sched.mu
	name    string
	_       [24]byte
}

// poison is the state of a variable whose value is not what the program asked for.
type poison struct {
	cause  *OpError
	intact bool // only skipped writes: the value is an old one
}

// quiet reports whether nothing pending uses v. push.mu is held.
func (v *Var) quiet() bool { return v.running == nil && v.sent == v.quietAt.Load() }

// send counts a use that goes to the scheduler. push.mu is held.
func (v *Var) send(mode Access) {
	v.sent++
	if mode != Read {
		v.sentWrites++
	}
}

// The core publishes three facts of a variable for those who read without sched.mu, by the following methods and by nothing
// else. Only the holder of sched.mu writes them, so the core reads back what it has written.

// poisoned returns the poison of v, nil for none.
func (v *Var) poisoned() *poison { return v.poison.Load() }

// publishPoison sets the poison of v. sched.mu is held.
func (v *Var) publishPoison(p *poison) { v.poison.Store(p) }

// publishQuiet says that all of the first n uses that were sent are complete. sched.mu is held.
func (v *Var) publishQuiet(n uint64) { v.quietAt.Store(n) }

// publishWrite counts a write that ran. sched.mu is held.
func (v *Var) publishWrite() { v.version.Add(1) }

// Name returns the name given to NewVar.
func (v *Var) Name() string { return v.name }

// Version returns the number of completed writes that ran: 0 at first, unchanged by reads and by skipped writes.
func (v *Var) Version() uint64 { return v.version.Load() }

// Err returns the error that poisons v at this moment, an *OpError, or nil. It does not wait for pending writes.
func (v *Var) Err() error {
	if p := v.poison.Load(); p != nil {
		return p.cause
	}
	return nil
}
