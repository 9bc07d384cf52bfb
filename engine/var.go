package engine

import (
	"sync/atomic"
	"unsafe"

	"gomx/engine/core"
)

// Var is a variable: a tag for something that operations read and write, such as the memory of an
// array. The engine never looks at the thing itself. Operations that use the same variable run in
// the order of their pushes, except that reads between two writes run together. Variables are made
// by Engine.NewVar and must be used with that engine only.
//
// Invariants:
//  1. quietAt never exceeds sent; they are equal only when the scheduler knows of no pending
//     operation that uses the variable;
//  2. running is set only while they are equal;
//  3. writes complete in the order of their pushes.
type Var struct {
	q core.Var // guarded by scheduler.mu; the first field, see varOf

	// Written under scheduler.mu, and by inline operations while they own the variable; read by
	// anyone.
	// value of sent up to which everything was complete when the variable was last unused
	quietAt atomic.Uint64
	version atomic.Uint64
	poison  atomic.Pointer[core.Poison]
	name    string
	_       [8]byte // pushers and workers write to different cache lines

	// Guarded by pushers.mu; eng never changes.
	sent       uint64 // uses that went to the scheduler
	sentWrites uint64 // writes among them
	// operation that uses the variable inline on its pusher's goroutine, unknown to the scheduler
	running *oper
	stamp   uint64 // number of the last push that used the variable; finds duplicates
	slot    int32  // index of the use in that push
	deleted bool
	eng     *Engine
	_       [16]byte
}

// varOf returns the variable around one of the core.
func varOf(v *core.Var) *Var { return (*Var)(unsafe.Pointer(v)) }

// quiet reports whether nothing pending uses v. push.mu is held.
func (v *Var) quiet() bool { return v.running == nil && v.sent == v.quietAt.Load() }

// send counts a use that goes to the scheduler. push.mu is held.
func (v *Var) send(mode core.Mode) {
	v.sent++
	if mode != core.Read {
		v.sentWrites++
	}
}

// Name returns the name given to NewVar.
func (v *Var) Name() string { return v.name }

// Version returns the number of completed writes that ran: 0 at first, unchanged by reads and by
// skipped writes.
func (v *Var) Version() uint64 { return v.version.Load() }

// Err returns the error that poisons v at this moment, an *OpError, or nil. It does not wait for
// pending writes.
func (v *Var) Err() error {
	if p := v.poison.Load(); p != nil {
		return p.Cause
	}
	return nil
}
