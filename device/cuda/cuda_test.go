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
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
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
	square := cuda.NewMap("square", dtype.Float32, n)
	if err := square.Run(q, b.Ptr, a.Ptr, nil); err != nil {
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

// TestPointwiseWords adds operands of several types at aligned and misaligned addresses, along rows
// that are and are not whole words, and wants the memory beside the result unchanged.
func TestPointwiseWords(t *testing.T) {
	need(t)
	q := queue(t, 0)
	for _, typ := range []dtype.Type{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64,
		dtype.Uint8} {
		for _, c := range []struct{ shape, a, b []int }{
			{[]int{0}, []int{1}, []int{1}}, // no elements
			{[]int{1}, []int{1}, []int{1}},
			{[]int{37}, []int{1}, []int{1}},
			{[]int{37}, []int{1}, []int{0}},
			{[]int{7, 16}, []int{16, 1}, []int{0, 1}},
			{[]int{7, 16}, []int{0, 1}, []int{1, 0}},
			{[]int{7, 15}, []int{15, 1}, []int{0, 1}},
			{[]int{3, 5, 8}, []int{40, 8, 1}, []int{0, 1, 0}},
			{[]int{3, 5, 8}, []int{9, 0, 1}, []int{8, 0, 1}},
			{[]int{4, 3, 2, 8}, []int{1, 4, 12, 0}, []int{0, 8, 24, 1}},
		} {
			for offset := range 8 {
				addAt(t, q, typ, cuda.Walk{Dims: c.shape, Strides: [][]int{c.a, c.b}},
					[3]int{offset & 1, offset >> 1 & 1, offset >> 2})
			}
		}
	}
}

// addAt adds two operands along a walk. Offsets are the numbers of elements before the result and
// the operands.
func addAt(t *testing.T, q *cuda.Queue, typ dtype.Type, w cuda.Walk, offsets [3]int) {
	t.Helper()
	const size = 256 // elements of each array
	var arrays [3]op.Tensor
	var on [3]unsafe.Pointer
	var values [3][]float64
	for i := range arrays {
		arrays[i], values[i] = optest.New(typ, size), make([]float64, size)
		for k := range values[i] {
			values[i][k] = float64((k*k + i) % 23)
		}
		loop.Store(arrays[i], 0, values[i])
		b := alloc(t, 0, size*typ.Size())
		b.CopyIn(0, bytesIn(arrays[i]))
		on[i] = unsafe.Add(b.Ptr, offsets[i]*typ.Size())
	}
	n := w.Size()
	m := cuda.NewMap("add", typ, n)
	m.Broadcast(w)
	if err := m.Run(q, on[0], on[1], on[2]); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		rest, sum := i, 0.0
		at := [3]int{0, offsets[1], offsets[2]}
		for d := len(w.Dims) - 1; d >= 0; d-- {
			for k, s := range w.Strides {
				at[k+1] += rest % w.Dims[d] * s[d]
			}
			rest /= w.Dims[d]
		}
		sum = values[1][at[1]] + values[2][at[2]]
		values[0][offsets[0]+i] = sum
	}
	got := arrays[0]
	if err := q.CopyOut(bytesIn(got), unsafe.Add(on[0], -offsets[0]*typ.Size())); err != nil {
		t.Fatal(err)
	}
	for i, v := range loop.Floats(got) {
		if v != values[0][i] {
			t.Fatalf("%v, %v, offsets %v: element %d: got %v, want %v", typ, w, offsets, i, v,
				values[0][i])
		}
	}
}

// bytesIn returns the memory of an array of the processor.
func bytesIn(x op.Tensor) []byte { return unsafe.Slice((*byte)(x.Data), x.Bytes) }

// TestDivisor divides as kernels do, without a division.
func TestDivisor(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1 << 16 {
		d := 1 + random.IntN(1<<(1+random.IntN(31))-1)
		for _, i := range []int{0, d - 1, d, 2*d - 1, 1<<31 - 1, random.IntN(1 << 31)} {
			i = min(i, 1<<31-1)
			by := cuda.Divisor(d)
			got := (uint32(uint64(i)*uint64(uint32(by))>>32) + uint32(i)) >> (by >> 32)
			if int(got) != i/d {
				t.Fatalf("%d / %d: got %d, want %d", i, d, got, i/d)
			}
		}
	}
}
