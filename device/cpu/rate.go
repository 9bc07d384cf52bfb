//go:build cgo

package cpu

// #include "rate.h"
import "C"

import "time"

// Rates returns the speed of fixed loops in registers, in GFLOP/s of all threads: of fused
// multiply-adds of float32, and of products of tiles of bfloat16, 0 where the processor has no
// tiles. They tell how fast the processor is at the moment, which may change within seconds.
func Rates(threads int) (fma, amx float64) {
	speed := func(loop func(C.int) C.double) float64 {
		start := time.Now()
		n := float64(loop(C.int(threads)))
		return n / time.Since(start).Seconds() / 1e9
	}
	return speed(func(n C.int) C.double { return C.gx_rate_fma(n) }),
		speed(func(n C.int) C.double { return C.gx_rate_amx(n) })
}
