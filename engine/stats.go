package engine

// Stats are counters of an engine at one moment. Counters that only grow count from New.
type Stats struct {
	Pushed       uint64 // operations that went through the queues
	Inline       uint64 // operations that Push ran itself
	Completed    uint64 // operations of Pushed that are complete
	Failed       uint64 // operations that failed
	Skipped      uint64 // operations that were skipped because an input was poisoned
	Pending      uint64 // operations of Pushed that are not complete
	PendingBytes int64  // Task.Bytes of the pending operations
	Ready        int    // operations of the processor that only wait for a worker
	BusyCores    int    // cores that operations compute on
	// variables that became poisoned and were not cured, forgotten ones included
	Poisoned int
	HeldBack int  // goroutines that wait for room to push
	Stopped  bool // by Engine.Stop
}

// Stats returns the counters. It takes the engine's locks for an instant.
func (e *Engine) Stats() Stats {
	e.push.mu.Lock()
	s := Stats{Pushed: e.push.submitted, Inline: e.push.inline}
	e.push.mu.Unlock()
	e.sched.mu.Lock()
	s.Completed = e.quota.retired.Load()
	n := e.sched.core.Counts()
	s.Failed, s.Skipped, s.Poisoned = n.Failed, n.Skipped, n.Poisoned
	s.Stopped = e.sched.halted
	s.Ready, s.BusyCores = e.pools.narrow.n+e.pools.wide.n, e.cfg.Workers-e.sched.free
	e.sched.mu.Unlock()
	if s.Completed < s.Pushed { // more may have been pushed and completed in between
		s.Pending = s.Pushed - s.Completed
	}
	s.PendingBytes = e.quota.bytes.Load()
	s.HeldBack = int(e.quota.waiting.Load())
	return s
}
