//go:build cuda

package cuda_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
)

// TestMissing says what a machine without a driver is told.
func TestMissing(t *testing.T) {
	if device.Count(device.KindCUDA) > 0 {
		t.Skip("there are devices")
	}
	if why := cuda.Missing(); !strings.Contains(why, "libcuda.so.1") &&
		!strings.Contains(why, "cuInit") {
		t.Errorf("Missing() = %q, want the library or the call that failed", why)
	}
	if _, err := device.Alloc(device.CUDA(0), 64, device.PurposeArray); err == nil {
		t.Error("memory of a device that does not exist")
	}
}

// TestEventsOrderQueues copies in, across devices and out on three queues that only events order,
// and is told when the last one is done.
func TestEventsOrderQueues(t *testing.T) {
	need(t)
	last := device.Count(device.KindCUDA) - 1
	const n = 3 << 20
	a, b := alloc(t, 0, n), alloc(t, last, n)
	in, err := device.QueueOf(device.CUDA(0), device.QueueIn)
	if err != nil {
		t.Fatal(err)
	}
	across, err := device.QueueOf(device.CUDA(last), device.QueueIn)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		src, dst := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i] = byte(i*7 + round)
		}
		if err := in.CopyIn(a.Ptr, src); err != nil {
			t.Fatal(err)
		}
		mark, err := in.Mark()
		if err != nil {
			t.Fatal(err)
		}
		if err := across.Wait(mark); err != nil {
			t.Fatal(err)
		}
		if err := across.CopyFrom(b.Ptr, device.CUDA(0), a.Ptr, n); err != nil {
			t.Fatal(err)
		}
		end, err := across.Mark()
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan error, 1)
		across.Notify(end, func(err error) { told <- err })
		select {
		case err := <-told:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("nobody was told that the copy is done")
		}
		b.CopyOut(dst, 0)
		if !slices.Equal(src, dst) {
			t.Fatalf("round %d: what came through two devices has changed", round)
		}
		in.Notify(mark, func(error) {})
	}
}

// TestKernelErrors names what cannot be launched.
func TestKernelErrors(t *testing.T) {
	need(t)
	q := queue(t, 0)
	if err := q.Launch(cuda.Func("nonsense", "x", dtype.Float32), q.Each(1), 0); err == nil ||
		!strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a family that does not exist: %v", err)
	}
	if err := q.Launch(cuda.Func("copy", "nonsense", dtype.Unknown), q.Each(1), 0); err == nil ||
		!strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a kernel that does not exist: %v", err)
	}
	broken := cuda.FuncOf(cuda.Unit{Family: "broken", DType: dtype.Float32,
		Text: "KERNEL(x, Nothing) {}"}, "x")
	if err := q.Launch(broken, q.Each(1), 0); err == nil ||
		!strings.Contains(err.Error(), "Nothing") {
		t.Errorf("a text that does not compile: %v, want what the compiler says", err)
	}
}

// TestLaunchAllocatesNothing counts allocations of a launch that has been made before.
func TestLaunchAllocatesNothing(t *testing.T) {
	need(t)
	q, b := queue(t, 0), alloc(t, 0, 4096)
	f := cuda.Func("fill", "fill", dtype.Unknown)
	launch := func() {
		if err := q.Launch(f, q.Each(1024), cuda.P(b.Ptr), cuda.I(cuda.Code(dtype.Float32)),
			cuda.I(1024), cuda.F(1), 0, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	launch()
	if n := testing.AllocsPerRun(100, launch); n > 0 {
		t.Errorf("%v allocations per launch, want none", n)
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
}
