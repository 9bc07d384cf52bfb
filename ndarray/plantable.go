package ndarray

import (
	"hash/maphash"
	"sync/atomic"
)

// planTable is a hash table of plans: lock-free to read, bounded in size. A full table is emptied:
// programs whose shapes repeat never fill it, and other programs gain nothing from it.
type planTable struct {
	seed    maphash.Seed
	buckets atomic.Pointer[planBuckets]
}

type planBuckets struct {
	head  [planSlots]atomic.Pointer[plan] // lists linked by plan.next
	count atomic.Int64                    // plans added
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

// find returns the plan with a key, nil if there is none. hash is the key's hash.
func (t *planTable) find(hash uint64, key []byte) *plan {
	for p := t.buckets.Load().head[hash%planSlots].Load(); p != nil; p = p.next {
		if p.key == string(key) {
			return p
		}
	}
	return nil
}

// add adds p, which no other goroutine may use yet. When two goroutines add plans with the same key
// at once the table holds both, and find returns one of them.
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
