//go:build cgo

package cpu_test

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"gomx/device/cpu"
)

// anonymous returns the resident bytes of the process that belong to no file.
func anonymous(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("found no RssAnon in %s", text)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// Products on several threads, one after the other as segments of a network run, leave no more
// memory behind than two aligned copies of their operands for each thread.
func TestProductsLeaveNoGaps(t *testing.T) {
	const threads, rounds, m, n, k = 6, 20, 1120, 800, 200
	const most = threads * 2 * 4 * (m*k + k*n)
	r := rng(t)
	a, b, c := random(r, m*k), random(r, k*n), newGuarded(m*n)
	before := anonymous(t)
	var turn sync.Mutex
	var computed, ended sync.WaitGroup
	computed.Add(threads)
	leave := make(chan struct{})
	for range threads {
		ended.Go(func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			for range rounds {
				turn.Lock()
				for _, transposed := range []bool{false, true} {
					cpu.Gemm{M: m, N: n, K: k, Alpha: 1, TransB: transposed, Threads: 1}.Run(
						c.ptr(), a.ptr(), b.ptr())
				}
				turn.Unlock()
			}
			computed.Done()
			<-leave
		})
	}
	computed.Wait()
	grown := anonymous(t) - before
	close(leave)
	ended.Wait()
	if grown > most {
		t.Errorf("%d KiB more memory after products on %d threads, want at most %d", grown>>10,
			threads, most>>10)
	}
	c.intact(t, "product")
}
