package ndarray

import (
	"encoding/binary"
	"sync"
	"testing"
)

func TestPlanTable(t *testing.T) {
	table := newPlanTable()
	key := func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(i)) }
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 3 * maxPlans / 2 {
				k := key(i)
				h := table.hash(k)
				if p := table.find(h, k); p != nil && p.bytes != int64(i) {
					t.Errorf("goroutine %d found plan %d for key %d", g, p.bytes, i)
				}
				table.add(h, &plan{key: string(k), bytes: int64(i)})
				if p := table.find(h, k); p != nil && p.bytes != int64(i) {
					t.Errorf("goroutine %d found plan %d for key %d after adding it", g, p.bytes, i)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for i := range table.buckets.Load().head {
		for p := table.buckets.Load().head[i].Load(); p != nil; p = p.next {
			n++
		}
	}
	if n == 0 || n > 2*maxPlans {
		t.Errorf("%d plans in the table, want some and about %d at most", n, maxPlans)
	}
}
