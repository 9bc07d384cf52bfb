package engine

import (
	"context"
	"sync"
)

// life is the state of an engine's goroutines. Its lock comes before all others.
type life struct {
	mu       sync.Mutex
	stopped  bool
	closed   bool
	err      error          // result of Close
	ending   chan struct{}  // closed to end the watchdog
	watchdog sync.WaitGroup // until it has ended
}

// Stop ends the goroutines that run operations, after the bodies that run. Pending operations stay
// pending until Start, and so do later ones: a push that the quotas hold back, and a wait for such
// an operation, return only then. Variables and their errors stay as they are. Cheap operations may
// still run on goroutines that push or wait, and work that a device has begun still completes.
// Stopping a stopped or closed engine does nothing. The body of an operation must not call Stop.
func (e *Engine) Stop() {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	if e.life.stopped || e.life.closed {
		return
	}
	e.life.stopped = true
	e.push.mu.Lock()
	e.pools.stopped = true
	e.push.mu.Unlock()
	e.sched.mu.Lock()
	e.sched.halted = true
	e.sched.mu.Unlock()
	e.pools.end()
}

// Start undoes Stop. It does nothing when the engine is not stopped.
func (e *Engine) Start() {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	e.resume()
}

// resume starts the workers again. life.mu is held.
func (e *Engine) resume() {
	if !e.life.stopped {
		return
	}
	e.life.stopped = false
	e.sched.mu.Lock()
	e.sched.halted = false
	e.sched.mu.Unlock()
	e.push.mu.Lock()
	e.pools.stopped = false
	all := e.pools.workers()
	e.pools.running.Add(len(all))
	e.push.mu.Unlock()
	for _, w := range all {
		go w.main()
	}
	if e.cfg.Naive {
		e.drive()
	}
}

// Close waits until nothing is pending and ends the engine's goroutines. It returns the result of
// WaitAll; closing again returns the same. A stopped engine is started first. Afterwards pushes
// panic, except for those that delete, which run at once. The body of an operation must not call
// Close.
func (e *Engine) Close() error {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	if e.life.closed {
		return e.life.err
	}
	e.resume()
	e.life.closed = true
	e.life.err = e.drain()
	close(e.life.ending)
	e.sched.mu.Lock()
	e.sched.closing = true
	e.sched.mu.Unlock()
	e.pools.end()
	e.life.watchdog.Wait()
	return e.life.err
}

// drain waits until nothing is pending and closes the engine to pushes at that moment.
func (e *Engine) drain() error {
	var first error
	for {
		if err := e.WaitAll(context.Background()); first == nil {
			first = err
		}
		e.push.mu.Lock()
		quiet := e.push.live == nil && e.push.submitted == e.quota.retired.Load()
		e.push.closed = quiet
		e.push.mu.Unlock()
		if quiet {
			return first
		}
	}
}
