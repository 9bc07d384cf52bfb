package worker

import "testing"

// TestEmptyQueuesKeepNoPushes wants queues that are used again not to keep the pushes that were in
// them.
func TestEmptyQueuesKeepNoPushes(t *testing.T) {
	rt, _ := testRoutes(Config{})
	p := rt.give(8)
	if q := p.slice.queue; len(q) != 0 || cap(q) == 0 || q[:1][0] != nil {
		t.Errorf("the queue of a slice keeps pushes that have left it: %v", q[:cap(q)])
	}
}
