package ndarray

import (
	"hash/maphash"
	"sync/atomic"
)

// planTable is a hash table of plans: lock-free to read, bounded in size. When it is full it is
// emptied: programs whose shapes repeat never get there, and others gain nothing from it.
type planTable struct {
	seed    maphash.Seed
	buckets atomic.Pointer[planBuckets]
}

type planBuckets struct {
	head  [planSlots]atomic.Pointer[plan]
	count atomic.Int64
}

const (
	planSlots = 1024
	maxPlans  = 4 * planSlots
)

// plans caches the plans of all imperative operations.
var plans = newPlanTable()

func newPlanTable() *planTable {
	t := &planTable{seed: maphash.MakeSeed()}
	t.buckets.Store(&planBuckets{})
	return t
}

func (t *planTable) hash(key []byte) uint64 { return maphash.Bytes(t.seed, key) }

// find returns the plan with a key, nil if there is none.
func (t *planTable) find(hash uint64, key []byte) *plan {
	for p := t.buckets.Load().head[hash%planSlots].Load(); p != nil; p = p.next {
		if p.key == string(key) {
			return p
		}
	}
	return nil
}

// add puts in p, which nobody else has seen. Two equal plans may end up in the table when two
// goroutines were equally fast; the first is found.
func (t *planTable) add(hash uint64, p *plan) {
	b := t.buckets.Load()
	if b.count.Add(1) > maxPlans {
		fresh := &planBuckets{}
		fresh.count.Store(1)
		if t.buckets.CompareAndSwap(b, fresh) {
			b = fresh
		} else {
			b = t.buckets.Load()
		}
	}
	head := &b.head[hash%planSlots]
	for {
		p.next = head.Load()
		if head.CompareAndSwap(p.next, p) {
			return
		}
	}
}
