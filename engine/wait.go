package engine

import (
	"context"
	"fmt"
	"unsafe"

	"gomx/engine/core"
)

// WaitRead waits until the pending writes of v are complete, so that v may be read, and returns the
// error that poisons v, an *OpError. Pending reads do not matter. When ctx ends first its error is
// returned; nil stands for context.Background(). The body of an operation must not call WaitRead.
func (e *Engine) WaitRead(ctx context.Context, v *Var) error {
	v.ownedBy(e)
	e.push.mu.Lock()
	if v.quiet() {
		e.push.mu.Unlock()
		return v.Err()
	}
	if v.running != nil {
		e.push.share(v.running)
	}
	target := v.sentWrites
	e.push.mu.Unlock()
	if err := e.await(ctx, v, target); err != nil {
		return err
	}
	return v.Err()
}

// WaitWrite waits until all pending reads and writes of v are complete, so that v may be written,
// and returns the error that poisons v, an *OpError. The body of an operation must not call
// WaitWrite.
func (e *Engine) WaitWrite(ctx context.Context, v *Var) error {
	v.ownedBy(e)
	e.push.mu.Lock()
	quiet := v.quiet()
	e.push.mu.Unlock()
	if quiet {
		return v.Err()
	}
	t := Task{Name: "WaitWrite", Fn: nothing, Cheap: true, Priority: Urgent}
	e.pushTask(&t, []Use{{v, Update}}, extra{flags: barrier, exempt: true})
	return e.WaitRead(ctx, v)
}

func nothing(*Run) error { return nil }

// WaitAll waits until nothing is pending and returns the first failure since the last WaitAll, an
// *OpError. Variables stay poisoned. The body of an operation must not call WaitAll.
func (e *Engine) WaitAll(ctx context.Context) error {
	e.push.mu.Lock()
	for e.push.live != nil {
		e.push.share(e.push.live)
	}
	e.push.mu.Unlock()
	var out outbox
	var w *waiter
	e.sched.mu.Lock()
	e.sched.absorb()
	if e.sched.core.Live() > 0 {
		w = e.sched.waiting.take()
		w.v = nil
		w.next, e.sched.waiting.idle = e.sched.waiting.idle, w
	}
	e.leave(&out)
	if w != nil {
		if err := e.park(ctx, w); err != nil {
			return err
		}
	}
	e.sched.mu.Lock()
	first := e.sched.core.TakeFirst()
	e.sched.mu.Unlock()
	return first
}

// ownedBy panics when v is not a variable of e.
func (v *Var) ownedBy(e *Engine) {
	if v.eng != e {
		panic("engine: variable \"" + v.name + "\" belongs to another engine")
	}
}

// await waits until the number of completed writes of v is at least target.
func (e *Engine) await(ctx context.Context, v *Var, target uint64) error {
	for {
		var out outbox
		var w *waiter
		var o *oper
		e.sched.mu.Lock()
		e.sched.absorb()
		e.sched.collect(&out)
		if v.q.Writes() < target {
			if o = e.sched.helpable(v); o == nil {
				w = e.sched.waiting.take()
				w.v, w.Writes = v, target
				e.sched.core.Await(&v.q, &w.Waiter)
			}
		}
		e.leave(&out)
		switch {
		case o != nil:
			e.help(o)
		case w != nil:
			return e.park(ctx, w)
		default:
			return nil
		}
	}
}

// park blocks until w is signaled, or makes it wait no longer when ctx ends.
func (e *Engine) park(ctx context.Context, w *waiter) error {
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	select {
	case <-w.ch:
		e.sched.mu.Lock()
		e.sched.waiting.put(w)
		e.sched.mu.Unlock()
		return nil
	case <-done:
	}
	e.sched.mu.Lock()
	goal := "everything pending"
	if w.v != nil {
		goal = fmt.Sprintf("variable %q", w.v.name)
	}
	if e.sched.forget(w) {
		e.sched.waiting.put(w) // no other goroutine knows it: its channel is and stays empty
	}
	e.sched.mu.Unlock()
	return fmt.Errorf("engine: waiting for %s: %w", goal, context.Cause(ctx))
}

// forget makes w wait no longer and reports whether it had not been signaled. mu is held.
func (s *scheduler) forget(w *waiter) bool {
	if w.v != nil {
		return s.core.Forget(&w.v.q, &w.Waiter)
	}
	for p := &s.waiting.idle; *p != nil; p = &(*p).next {
		if *p == w {
			*p = w.next
			return true
		}
	}
	return false
}

// waiter is a goroutine that waits until a number of writes of a variable are complete, or until
// nothing is pending.
type waiter struct {
	core.Waiter // the first field, see waiterOf
	// in the list of idle waiters, of waiters to be signaled, or of unused records
	next *waiter
	v    *Var // nil while it waits for everything
	ch   chan struct{}
}

// waiterOf returns the waiter around one of the core.
func waiterOf(w *core.Waiter) *waiter { return (*waiter)(unsafe.Pointer(w)) }

// waiting lists the waiters that no variable of the core lists. scheduler.mu guards it.
type waiting struct {
	idle   *waiter // goroutines that wait until nothing is pending
	unused *waiter // records for reuse
}

// take returns an unused waiter.
func (l *waiting) take() *waiter {
	w := l.unused
	if w == nil {
		return &waiter{ch: make(chan struct{}, 1)}
	}
	l.unused, w.next = w.next, nil
	return w
}

// put keeps w for reuse.
func (l *waiting) put(w *waiter) {
	w.v = nil
	w.next, l.unused = l.unused, w
}

// ClearError declares that the value of v is to be used although a write of it was skipped: v holds
// the value from before that write. It waits for pending uses of v first. When a write failed
// midway the value is undefined: v stays poisoned, and an error says so.
func (e *Engine) ClearError(v *Var) error {
	err := e.WaitWrite(context.Background(), v)
	if err == nil {
		return nil
	}
	e.sched.mu.Lock()
	defer e.sched.mu.Unlock()
	if p := e.sched.core.Accept(&v.q); p != nil {
		return fmt.Errorf("engine: variable %q is undefined, a write of it failed midway: %w",
			v.name, p.Cause)
	}
	v.poison.Store(nil)
	return nil
}

// DeleteVar ends the life of v: free, which may be nil, runs once all pending operations that use v
// are complete. Using v afterwards panics. DeleteVar never waits and may be called after Close.
func (e *Engine) DeleteVar(v *Var, free func()) {
	e.DeleteVarWith(v, deleted, free)
}

// DeleteVarWith is DeleteVar with a plain function and its argument instead of a closure.
func (e *Engine) DeleteVarWith(v *Var, free func(r *Run) error, arg any) {
	deleteVar(e, v, Task{Fn: free, Arg: arg})
}

// DeleteVarSoon is DeleteVarWith whose free runs before other operations that are ready. It is for
// memory that operations take when they run: no push waits for that, and a program that runs ahead
// would hold the memory of all operations that became ready before.
func (e *Engine) DeleteVarSoon(v *Var, free func(r *Run) error, arg any) {
	deleteVar(e, v, Task{Fn: free, Arg: arg, Priority: Urgent})
}

func deleteVar(e *Engine, v *Var, t Task) {
	t.Name, t.Cheap, t.Delete = "DeleteVar", true, true
	e.pushTask(&t, []Use{{v, Update}}, extra{flags: kill, exempt: true})
}

// deleted is the body of DeleteVar.
func deleted(r *Run) error {
	if free := r.Arg.(func()); free != nil {
		free()
	}
	return nil
}
