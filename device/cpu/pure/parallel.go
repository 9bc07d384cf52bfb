package pure

import "sync"

// Parallel splits n items into one range for each of threads goroutines and runs f on each; part
// numbers the ranges.
func Parallel(threads, n int, f func(part, begin, end int)) {
	threads = min(threads, n)
	if threads <= 1 {
		if n > 0 {
			f(0, 0, n)
		}
		return
	}
	var wg sync.WaitGroup
	for p := range threads {
		wg.Go(func() { f(p, n*p/threads, n*(p+1)/threads) })
	}
	wg.Wait()
}
