package engine

import (
	"sync/atomic"
)

// segmentSize is the number of slots of a segment. BenchmarkQueue1 chose it.
const segmentSize = 256

// inbox carries operations from pushers, which hold push.mu, to schedulers, which hold sched.mu.
// Neither waits for the other. It is a chain of segments: the next records are found without
// following pointers through memory that another processor has just written.
type inbox struct {
	// Guarded by push.mu.
	tail  *segment
	fill  int
	count uint64

	sent  atomic.Uint64           // operations put in
	spare atomic.Pointer[segment] // emptied segments, linked
	_     [64]byte

	// Guarded by sched.mu.
	head  *segment
	at    int
	taken uint64
	known uint64 // sent at the last look
}

type segment struct {
	slots [segmentSize]*oper
	next  *segment
}

func (b *inbox) init() {
	b.tail = new(segment)
	b.head = b.tail
}

// put adds o. push.mu is held.
func (b *inbox) put(o *oper) {
	if b.fill == segmentSize {
		s := b.spare.Swap(nil)
		if s == nil {
			s = new(segment)
		}
		rest := s.next
		s.next = nil
		b.tail.next = s
		b.tail, b.fill = s, 0
		if rest != nil {
			b.spare.CompareAndSwap(nil, rest) // a failure loses spares, nothing else
		}
	}
	b.tail.slots[b.fill] = o
	b.fill++
	b.count++
	b.sent.Store(b.count)
}

// empty reports whether everything sent has been taken. sched.mu is held.
func (b *inbox) empty() bool { return b.sent.Load() == b.taken }

// take returns the next operation, which must exist. sched.mu is held.
func (b *inbox) take() *oper {
	if b.at == segmentSize {
		old := b.head
		b.head, b.at = old.next, 0
		old.next = b.spare.Load()
		b.spare.CompareAndSwap(old.next, old)
	}
	o := b.head.slots[b.at]
	b.head.slots[b.at] = nil
	b.at++
	b.taken++
	return o
}

// look notes the number of operations pushed so far. A worker that goes to sleep afterwards
// compares it once more. sched.mu is held.
func (b *inbox) look() { b.known = b.sent.Load() }

// absorb hands all pushed operations to the core. mu is held.
func (s *scheduler) absorb() {
	for s.inbox.look(); s.inbox.taken != s.inbox.known; {
		s.core.Submit(&s.inbox.take().Op)
	}
}

// A worker of the processor that runs cheap operations does not absorb everything: records that are
// looked at shortly before they run are still in its cache. It stops at readyTarget ready
// operations, and at window pending ones when every worker has something to do. That also bounds
// the number of cheap operations that delay an urgent one. BenchmarkQueue1 and BenchmarkQueue2
// chose both.
const (
	readyTarget = 64
	window      = 256
)

// absorbWindow is absorb for the workers of the processor. mu is held.
func (s *scheduler) absorbWindow() {
	c, b, n := &s.core, s.inbox, s.pools.narrow
	queued, bounded, workers := n.n, n.heavy == 0, s.cfg.Workers
	for b.look(); b.taken != b.known; {
		ready := queued + c.Waiting()
		if bounded && (ready >= readyTarget || ready >= workers && c.Live() >= window) {
			return
		}
		c.Submit(&b.take().Op)
	}
}
