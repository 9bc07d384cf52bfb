//go:build cgo && linux

package cpu_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// TestTeamsBlockSignals looks for OpenMP's thread among those of the process: a signal handled
// there, while generated code keeps the stack pointer in a buffer, would corrupt the heap.
func TestTeamsBlockSignals(t *testing.T) {
	const n = 192
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	g := cpu.Gemm{M: n, N: n, K: n, Alpha: 1, Threads: 2}
	if err := g.Run(unsafe.Pointer(&c[0]), unsafe.Pointer(&a[0]),
		unsafe.Pointer(&b[0])); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		t.Fatalf("got no threads: %v", err)
	}
	for _, f := range files {
		if mask := blocked(t, f); mask&(1<<(syscall.SIGPROF-1)) != 0 &&
			mask&(1<<(syscall.SIGUSR1-1)) != 0 {
			return
		}
	}
	t.Errorf("none of %d threads blocks signals", len(files))
}

// blocked returns the mask of blocked signals of a thread, 0 when it has ended.
func blocked(t *testing.T, file string) (mask uint64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("SigBlk:"))
	if _, err := fmt.Sscanf(string(after), "%x", &mask); err != nil {
		t.Fatal(err)
	}
	return mask
}
