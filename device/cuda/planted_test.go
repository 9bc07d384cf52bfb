//go:build cuda

package cuda_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/device/cuda/imitation"
	"gomx/dtype"
)

// planted holds kernels with faults. Their parameter has an output, an input and a number.
const planted = `
struct Planted { float *out; const float *in; Int n; };
struct alignas(16) Four { float v[4]; };
KERNEL(fine, Planted) {
	__shared__ float buf[256];
	buf[threadIdx.x] = k.in[threadIdx.x];
	__syncthreads();
	k.out[threadIdx.x] = buf[blockDim.x - 1 - threadIdx.x];
}
KERNEL(no_barrier, Planted) {
	__shared__ float buf[256];
	buf[threadIdx.x] = k.in[threadIdx.x];
	k.out[threadIdx.x] = buf[blockDim.x - 1 - threadIdx.x];
}
KERNEL(warp_barrier, Planted) {
	__shared__ float buf[256];
	buf[threadIdx.x] = k.in[threadIdx.x];
	__syncwarp();
	k.out[threadIdx.x] = buf[threadIdx.x ^ 32];
}
KERNEL(shared_race, Planted) {
	__shared__ int sum[4];
	if (threadIdx.x < 4) sum[threadIdx.x] = 0;
	__syncthreads();
	sum[k.n] += (int)k.in[threadIdx.x];
	__syncthreads();
	k.out[threadIdx.x] = (float)sum[k.n];
}
KERNEL(bytes, Planted) {
	__shared__ uint8_t buf[256];
	buf[threadIdx.x] = (uint8_t)threadIdx.x;
	__syncthreads();
	k.out[threadIdx.x] = buf[blockDim.x - 1 - threadIdx.x];
}
KERNEL(byte_race, Planted) {
	__shared__ uint32_t buf[64];
	((uint8_t *)buf)[threadIdx.x] = (uint8_t)threadIdx.x;
	k.out[threadIdx.x] = (float)buf[threadIdx.x / 4];
}
KERNEL(order, Planted) { k.out[0] = (float)threadIdx.x; }
KERNEL(divergent, Planted) {
	if (threadIdx.x < 16) __syncthreads();
	k.out[threadIdx.x] = 1;
}
KERNEL(stride, Planted) { k.out[threadIdx.x] = k.in[threadIdx.x * k.n]; }
KERNEL(packs, Planted) { ((Four *)k.out)[threadIdx.x] = ((const Four *)k.in)[threadIdx.x]; }
KERNEL(unset, Planted) {
	__shared__ float sum;
	if (threadIdx.x == 0) sum += k.in[0];
	__syncthreads();
	k.out[threadIdx.x] = sum;
}
KERNEL(add, Planted) { k.out[threadIdx.x] += k.in[threadIdx.x]; }
`

// plant runs a kernel of the planted faults with one block of 64 threads and returns the reports.
func plant(t *testing.T, name string, out, in unsafe.Pointer, n int) string {
	t.Helper()
	q := queue(t, 0)
	f := cuda.FuncOf(cuda.Unit{Family: "planted", DType: dtype.Float32, Text: planted}, name)
	if err := q.Launch(f, cuda.Grid{X: 1, Y: 1, Threads: 64}, cuda.P(out), cuda.P(in),
		cuda.I(n)); err != nil {
		t.Fatal(err)
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	return imitation.Reports()
}

// strict skips a test unless the imitation checks kernels, and collects its reports.
func strict(t *testing.T) {
	t.Helper()
	if !imitation.Strict() {
		t.Skip("the driver is not the strict imitation: see make cuda-strict")
	}
	t.Cleanup(imitation.Collect())
}

// TestPlantedKernels wants every kernel with a fault to be reported, and the one without not.
func TestPlantedKernels(t *testing.T) {
	strict(t)
	const n = 4 * 256
	out, in := alloc(t, 0, n), alloc(t, 0, n)
	other := alloc(t, 1, n)
	values := make([]float32, n/4)
	for i := range values {
		values[i] = float32(i)
	}
	in.CopyIn(0, bytesOf(values))
	own := make([]float32, 256)
	for _, c := range []struct {
		kernel  string
		out, in unsafe.Pointer
		n       int
		want    string
	}{
		{"fine", out.Ptr, in.Ptr, 0, ""},
		{"no_barrier", out.Ptr, in.Ptr, 0, "without a barrier"},
		{"warp_barrier", out.Ptr, in.Ptr, 0, "without a barrier"},
		{"shared_race", out.Ptr, in.Ptr, 0, "without a barrier"},
		{"bytes", out.Ptr, in.Ptr, 0, ""},
		{"byte_race", out.Ptr, in.Ptr, 0, "without a barrier"},
		{"order", out.Ptr, in.Ptr, 0, "depends on the order of threads"},
		{"divergent", out.Ptr, in.Ptr, 0, "is not met by all threads"},
		{"stride", out.Ptr, in.Ptr, 64, "memory outside of all arrays"},
		{"packs", out.Ptr, unsafe.Add(in.Ptr, 4), 0, "misaligned"},
		{"fine", out.Ptr, unsafe.Pointer(&own[0]), 0, "memory that is no device's"},
		{"fine", out.Ptr, other.Ptr, 0, "memory of another device"},
	} {
		got := plant(t, c.kernel, c.out, c.in, c.n)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: reports %q, want %q", c.kernel, got, c.want)
		}
	}
}

// TestPlantedMemory wants fresh memory, freed memory and the shared memory of a fresh block not to
// pass for values.
func TestPlantedMemory(t *testing.T) {
	strict(t)
	fresh, free, err := cuda.RawAlloc(0, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	out, in := alloc(t, 0, 1<<10), alloc(t, 0, 1<<10)
	in.CopyIn(0, make([]byte, 1<<10))
	if s := plant(t, "add", fresh, in.Ptr, 0); s != "" {
		t.Errorf("adding to fresh memory: reports %q", s)
	}
	sums := make([]float32, 64)
	if err := queue(t, 0).CopyOut(bytesOf(sums), fresh); err != nil {
		t.Fatal(err)
	}
	if v := sums[5]; v == 0 || math.Abs(float64(v)) < 1e30 {
		t.Errorf("a sum that begins with fresh memory is %v, want nonsense", v)
	}
	plant(t, "unset", out.Ptr, in.Ptr, 0)
	out.CopyOut(bytesOf(sums), 0)
	if sums[5] == 0 {
		t.Error("shared memory of a fresh block is zero, want nonsense")
	}
	free()
	time.Sleep(20 * time.Millisecond) // the release is work of a stream
	if s := plant(t, "fine", out.Ptr, fresh, 0); !strings.Contains(s, "has been freed") {
		t.Errorf("a kernel that reads freed memory: reports %q", s)
	}
	if s := plant(t, "fine", fresh, in.Ptr, 0); !strings.Contains(s, "has been freed") &&
		!strings.Contains(s, "after it was freed") {
		t.Errorf("a kernel that writes freed memory: reports %q", s)
	}
}

// TestPlantedStreams leaves out the event between two streams, and wants stale data to show; with
// the event it must not.
func TestPlantedStreams(t *testing.T) {
	strict(t)
	const n = 64
	in, err := device.QueueOf(device.CUDA(0), device.QueueIn)
	if err != nil {
		t.Fatal(err)
	}
	q, a, b := queue(t, 0), alloc(t, 0, 4*n), alloc(t, 0, 4*n)
	for _, waits := range []bool{true, false} {
		stale := 0
		for round := range 100 {
			src, dst := make([]float32, n), make([]float32, n)
			src[0] = float32(round + 1)
			if err := in.CopyIn(a.Ptr, bytesOf(src)); err != nil {
				t.Fatal(err)
			}
			mark, err := in.Mark()
			if err == nil && waits {
				err = q.Wait(mark)
			}
			if err == nil {
				err = q.CopyFrom(b.Ptr, device.CUDA(0), a.Ptr, 4*n)
			}
			if err == nil {
				err = q.CopyOut(bytesOf(dst), b.Ptr)
			}
			if err != nil {
				t.Fatal(err)
			}
			if dst[0] != src[0] {
				stale++
			}
			if err := in.(*cuda.Queue).Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if waits == (stale > 0) {
			t.Errorf("with an event %v: %d of 100 rounds read stale data", waits, stale)
		}
	}
}

// TestPlantedCalls makes calls of the driver that must fail: without a context, between devices
// whose pools are closed to each other, and calls that are made to fail.
func TestPlantedCalls(t *testing.T) {
	if !imitation.Present() {
		t.Skip("the driver is not the imitation")
	}
	q := queue(t, 0)
	mark, err := q.Mark()
	if err != nil {
		t.Fatal(err)
	}
	const invalidContext, outOfMemory, fault = 201, 2, 700
	if code := imitation.BareWait(cuda.EventOf(mark)); code != invalidContext {
		t.Errorf("waiting without a context: code %d, want %d", code, invalidContext)
	}
	imitation.Fail("cuMemAllocAsync", 1, outOfMemory)
	if b, err := device.Alloc(device.CUDA(0), 40<<20, device.PurposeScratch); err != nil {
		if !strings.Contains(err.Error(), "memory") {
			t.Errorf("an allocation that fails: %v", err)
		}
	} else {
		b.Free() // the pool has tried again
	}
	b := alloc(t, 0, 4096)
	for _, c := range []struct {
		call string
		run  func() error
	}{
		{"cuLaunchKernel", func() error {
			return q.Launch(cuda.Func("fill", "fill", dtype.Unknown), q.Each(16), cuda.P(b.Ptr),
				cuda.I(cuda.Code(dtype.Float32)), 16, 0, 0, 0, 0, 0)
		}},
		{"cuMemcpyHtoDAsync", func() error { return q.CopyIn(b.Ptr, make([]byte, 16)) }},
		{"cuMemcpyDtoHAsync", func() error { return q.CopyOut(make([]byte, 16), b.Ptr) }},
		{"cuEventRecord", func() error { _, err := q.Mark(); return err }},
		{"cuStreamWaitEvent", func() error { return q.Wait(mark) }},
		{"cuStreamSynchronize", q.Sync},
		{"cuMemsetD8Async", func() error { return q.Clear(b.Ptr, 16) }},
	} {
		if err := c.run(); err != nil {
			t.Fatalf("%s: %v", c.call, err)
		}
		imitation.Fail(c.call, 1, fault)
		if err := c.run(); err == nil || !strings.Contains(err.Error(), "700") {
			t.Errorf("%s fails: got %v, want an error with the driver's code", c.call, err)
		}
		if err := c.run(); err != nil {
			t.Errorf("%s after a failure: %v", c.call, err)
		}
	}
	told := make(chan error, 1)
	imitation.Break(fault)
	defer imitation.Break(0)
	q.Notify(mark, func(err error) { told <- err })
	select {
	case err := <-told:
		if err == nil {
			t.Error("a broken device reports the end of its work without an error")
		}
	case <-time.After(time.Minute):
		t.Fatal("a broken device reports nothing")
	}
	if err := q.Sync(); err == nil {
		t.Error("waiting for a broken device succeeds")
	}
}
