package device

import (
	"runtime"
	"sync"
)

// Cores returns how many cores kernels may use unless configured otherwise: what the process was
// given when it started. It never changes, although the Go runtime may follow changing quotas.
var Cores = sync.OnceValue(func() int {
	return max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
})

const (
	serialCost = 20e3 // ns; shorter kernels do not gain from a second thread
	threadCost = 10e3 // ns; the least work that pays for one more thread
)

// Threads returns with how many of cores threads a kernel runs that takes ns nanoseconds on one.
// It depends on nothing else, so that a kernel splits its work alike in every run.
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
	Flops float64 // operations in dense products and convolutions
	Bytes float64 // read and written
	Elems float64 // evaluations of exp, tanh and the like
}

// NS returns the estimated nanoseconds on one core of a current server processor.
func (w Work) NS() float64 {
	return w.Flops/100 + w.Bytes/20 + w.Elems/4
}
