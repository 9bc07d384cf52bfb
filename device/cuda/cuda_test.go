//go:build cuda

package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
)

// need skips a test where there is no GPU, real or imitated.
func need(t *testing.T) {
	t.Helper()
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
}

func bytesOf[E any](s []E) []byte {
	var e E
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(e)))
}

func alloc(t *testing.T, id, bytes int) device.Block {
	t.Helper()
	b, err := device.Alloc(device.CUDA(id), bytes, device.PurposeArray)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	return b
}

func queue(t *testing.T, id int) *cuda.Queue {
	t.Helper()
	q, err := device.QueueOf(device.CUDA(id), device.QueueCompute)
	if err != nil {
		t.Fatal(err)
	}
	return q.(*cuda.Queue)
}

func TestCopies(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 63, 4096, 4<<20 + 5, 13 << 20} {
		src, dst := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		b := alloc(t, 0, n+8)
		b.CopyIn(8, src)
		b.CopyOut(dst, 8)
		if !slices.Equal(src, dst) {
			t.Errorf("%d bytes come back changed", n)
		}
	}
}

func TestPointwise(t *testing.T) {
	need(t)
	const n = 100_000
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	a, b := alloc(t, 0, 4*n), alloc(t, 0, 4*n)
	a.CopyIn(0, bytesOf(x))
	q := queue(t, 0)
	f := cuda.Func("pointwise", "square", dtype.Float32)
	args := struct {
		out, a, b unsafe.Pointer
		n         int
		s, t      float64
		axes      int
		walk      [3][cuda.Axes]int
	}{out: b.Ptr, a: a.Ptr, n: n}
	if err := cuda.LaunchWith(q, f, q.Each(n), &args); err != nil {
		t.Fatal(err)
	}
	if err := q.CopyOut(bytesOf(y), b.Ptr); err != nil {
		t.Fatal(err)
	}
	for i := range y {
		if y[i] != x[i]*x[i] {
			t.Fatalf("element %d: got %v, want %v", i, y[i], x[i]*x[i])
		}
	}
}
