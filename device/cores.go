package device

import (
	"runtime"
	"sync"
)

// Cores returns the number of cores that kernels may use unless configured otherwise: the smaller
// of runtime.NumCPU and GOMAXPROCS at the first call. It never changes, although the Go runtime may
// follow changing quotas.
var Cores = sync.OnceValue(func() int {
	return max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
})

const (
	serialCost = 20e3 // ns; shorter kernels run on one thread
	threadCost = 10e3 // ns; least work per additional thread
)

// Threads returns the number of threads, at most cores, of a kernel that takes ns nanoseconds on
// one thread. It depends on the arguments only, so that a kernel splits its work alike in every
// run.
func Threads(cores int, ns float64) int {
	if cores <= 1 || ns < serialCost {
		return 1
	}
	if n := ns / threadCost; n < float64(cores) {
		return int(n)
	}
	return cores
}

// Work estimates the time of a kernel on one core.
type Work struct {
	Flops float64 // additions and multiplications in dense products and convolutions
	Bytes float64 // bytes read and written
	Elems float64 // evaluations of functions such as exp and tanh
}

// NS returns the estimated nanoseconds on one core of a current server processor.
func (w Work) NS() float64 {
	return w.Flops/100 + w.Bytes/20 + w.Elems/4
}
