//go:build cgo && linux

package cpu_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// TestSignalsDuringProducts sends signals to the process while OpenMP's threads are in generated
// code: without signals blocked there, handlers corrupt the heap.
func TestSignalsDuringProducts(t *testing.T) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	const n = 192
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	g := cpu.Gemm{M: n, N: n, K: n, Alpha: 1, Threads: 2}
	for range 400 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(unsafe.Pointer(&c[0]), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0])); err != nil {
			t.Fatal(err)
		}
	}
	<-got
}
