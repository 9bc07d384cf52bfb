//go:build cgo

package cpu_test

import (
	"testing"

	"gomx/device/cpu"
)

// TestRates checks that the loops take time: a loop that the compiler has taken out would have an
// impossible speed.
func TestRates(t *testing.T) {
	for _, threads := range []int{1, 2} {
		fma, amx := cpu.Rates(threads)
		t.Logf("%d threads: %.0f GFLOP/s, tiles %.0f", threads, fma, amx)
		if limit := 400 * float64(threads); fma <= 0.01 || fma > limit {
			t.Errorf("%d threads: %v GFLOP/s of fused multiply-adds, want at most %v", threads, fma,
				limit)
		}
		if limit := 8000 * float64(threads); amx < 0 || amx > limit {
			t.Errorf("%d threads: %v GFLOP/s of tiles, want at most %v", threads, amx, limit)
		}
	}
}
