package heap

import (
	"runtime/debug"
	"testing"
)

// Large heaps have little garbage, small ones as much as by default, and the end of a server sets
// the former share again.
func TestLimitGarbage(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 1 << 20: 100, 64 << 20: 50, 1 << 30: 10} {
		if p := garbagePercent(live); p != want {
			t.Errorf("%d bytes: %d percent, want %d", live, p, want)
		}
	}
	t.Setenv("GOGC", "")
	former := debug.SetGCPercent(77)
	defer debug.SetGCPercent(former)
	LimitGarbage()()
	if p := debug.SetGCPercent(77); p != 77 {
		t.Errorf("%d percent after the end, want 77", p)
	}
}
