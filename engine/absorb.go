package engine

// look notes how much has been pushed. Whoever goes to sleep afterwards, having found nothing to do, looks once more whether that has changed. sched.mu is held.
func (e *Engine) look() { e.inbox.known = e.inbox.sent.Load() }

// absorb hands what was pushed to the core. sched.mu is held.
func (e *Engine) absorb() {
	for e.look(); e.inbox.taken != e.inbox.known; {
		e.sched.core.submit(e.inbox.take())
	}
}

// A worker of the processor that runs cheap operations does not look at all that was pushed: what is looked at shortly before it runs is in the cache still.
// It stops at enough ready operations, and at a window of pending ones when every worker has something to do. An urgent operation is delayed by as many cheap ones at most.
const (
	enough = 64
	window = 256
)

// absorbSome is absorb for the workers of the processor. sched.mu is held.
func (e *Engine) absorbSome() {
	c := &e.sched.core
	for e.look(); e.inbox.taken != e.inbox.known; {
		ready := e.narrow.n + c.ready.n
		if e.narrow.heavy == 0 && (ready >= enough || ready >= e.cfg.Workers && c.live >= window) {
			return
		}
		c.submit(e.inbox.take())
	}
}
