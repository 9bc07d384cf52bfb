package engine

import (
	"sync"

	"gomx/engine/core"
)

// scheduler is the part of an engine that decides which operation runs next. Its methods need mu,
// which the caller holds; no method waits or runs a function of the program.
type scheduler struct {
	mu        sync.Mutex
	core      core.Core
	free      int // cores that nobody computes on
	waiting   waiting
	closing   bool               // workers end when they find nothing to do
	halted    bool               // and do not look for anything
	flying    map[*oper]struct{} // asynchronous operations that run
	late      core.List          // retired while their bodies still ran, which have returned
	following bool               // a goroutine runs the operation that nextBegun returned

	cfg   *Config
	inbox *inbox // its end for schedulers is guarded by mu
	pools *pools // the lists of ready operations are guarded by mu
	quota *quota
}

// init connects s with the other parts of e.
func (s *scheduler) init(e *Engine) {
	s.free, s.flying = e.cfg.Workers, map[*oper]struct{}{}
	s.cfg, s.inbox, s.pools, s.quota = &e.cfg, &e.inbox, &e.pools, &e.quota
}

// bodyReturned completes a synchronous operation, and an asynchronous one whose body failed. Other
// asynchronous operations are completed by their done. mu is held.
func (s *scheduler) bodyReturned(o *oper, failure *OpError) {
	if !o.inBody {
		s.done(o, failure)
		return
	}
	o.inBody = false
	switch {
	case o.retired: // done was called before the body returned, and the record has been kept for us
		s.late.Push(&o.Op)
	case failure != nil && !o.signaled:
		o.signaled = true
		delete(s.flying, o)
		s.done(o, failure)
	}
}

// done tells the core that the body of o is complete. mu is held.
func (s *scheduler) done(o *oper, failure *OpError) {
	if failure == nil {
		s.core.Done(&o.Op, nil)
		return
	}
	s.core.Done(&o.Op, failure)
}

// collect moves ready operations to the queues of the pools, and retired ones and woken waiters to
// out. It follows every change of the core before mu, which is held, is released.
func (s *scheduler) collect(out *outbox) {
	c := &s.core
	if op := c.Ready(); op != nil {
		pools := *s.pools.all.Load()
		for ; op != nil; op = c.Ready() {
			o := operOf(op)
			pool := pools[o.pool]
			if pool == s.pools.wide {
				r := o.spec.rank
				o.turn = s.pools.narrow.popped[r] + uint32(s.pools.narrow.ready[r].Len())
			}
			pool.push(o)
			if pool.lane {
				out.add(pool.unparkLast())
			}
		}
	}
	s.retire(out)
	for w := c.Woken(); w != nil; w = c.Woken() {
		out.waken(waiterOf(w))
	}
	if c.Live() == 0 && s.waiting.idle != nil && s.inbox.empty() {
		for w := s.waiting.idle; w != nil; w = s.waiting.idle {
			s.waiting.idle = w.next
			out.waken(w)
		}
	}
}

// retire publishes retired operations and moves their records to out, except those whose body still
// runs. mu is held.
func (s *scheduler) retire(out *outbox) {
	list := s.core.Retired()
	waits := false // some body has not returned
	for op := list.First(); op != nil; op = op.Next() {
		o := operOf(op)
		o.publish()
		o.retired = true
		if o.spec.async != nil {
			o.gen++
		}
		if o.spec.is(holds) {
			s.quota.bytes.Add(-o.bytes)
		}
		waits = waits || o.inBody
	}
	if n := list.Len(); n > 0 {
		s.quota.retired.Add(uint64(n))
	}
	for op := list.First(); waits && op != nil; op = list.First() {
		list.Pop()
		if !operOf(op).inBody {
			out.freed.Push(op)
		}
	}
	out.freed.Append(&list)
	for op := s.late.Pop(); op != nil; op = s.late.Pop() {
		out.freed.Push(op)
	}
}

// maxPostponed is the number of cheap operations that a worker about to run cheap ones leaves for
// later rather than wake another worker, which costs microseconds. BenchmarkQueue2 chose it.
const maxPostponed = 64

// chooseWakes chooses workers to wake for the ready operations. soon says that the caller is a
// worker of the processor that will be back within microseconds. mu is held.
func (s *scheduler) chooseWakes(out *outbox, soon bool) {
	n, w := s.pools.narrow, s.pools.wide
	first := s.wideFirst()
	if n.n > 0 && !first && s.free > 0 && (!soon || n.heavy > 0 || n.n > maxPostponed) {
		if !n.spinning.CompareAndSwap(spinning, poked) {
			out.add(n.unparkLast())
		}
	}
	if first && s.free >= s.cores(&w.first().spec) {
		out.add(w.unparkLast())
	}
	if shut := first || w.cores > 0 && s.free == 0; shut != n.shut.Load() {
		n.shut.Store(shut)
		out.open, out.seen = !shut, s.inbox.known
	}
	if shut := w.n > 0; shut != w.shut.Load() {
		w.shut.Store(shut)
	}
}

// wideFirst reports whether a wide operation is the next to start: by priority band, then by the
// order of becoming ready. If so no other operation of the processor may start. mu is held.
func (s *scheduler) wideFirst() bool {
	if s.pools.wide.n == 0 {
		return false
	}
	if s.pools.narrow.n == 0 {
		return true
	}
	w, n := s.pools.wide.first(), s.pools.narrow.first()
	r := w.spec.rank
	if r != n.spec.rank {
		return r < n.spec.rank
	}
	return int32(s.pools.narrow.popped[r]-w.turn) >= 0
}

// cores returns the number of cores that the wide operation op takes.
func (s *scheduler) cores(op *spec) int {
	if op.threads <= 0 {
		return s.cfg.Workers
	}
	return min(int(op.threads), s.cfg.Workers)
}
