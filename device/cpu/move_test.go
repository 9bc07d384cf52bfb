//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"gomx/device/cpu"
	"gomx/dtype"
)

type viewCase struct {
	shape   dtype.Shape
	strides []int
	offset  int
	memory  int // elements of the strided side
}

var viewCases = []viewCase{
	{dtype.Shape{6}, []int{1}, 0, 6}, {dtype.Shape{6}, []int{-1}, 5, 6}, {dtype.Shape{5}, []int{3},
		1, 16}, {dtype.Shape{5}, []int{-2}, 9, 10},
	{dtype.Shape{7, 5}, []int{1, 7}, 0, 35}, {dtype.Shape{100, 70}, []int{1, 100}, 0, 7000},
	{dtype.Shape{65, 33}, []int{1, 65}, 0, 2145},
	{dtype.Shape{3, 40, 20}, []int{800, 1, 40}, 0, 2400}, {dtype.Shape{20, 3, 30}, []int{1, 20, 60},
		0, 1800}, {dtype.Shape{4, 3, 2}, []int{1, 4, 12}, 0, 24},
	{dtype.Shape{3, 4}, []int{10, 1}, 13, 60}, {dtype.Shape{2, 3, 4}, []int{-24, 8, -2}, 31, 48},
	{dtype.Shape{}, nil, 2, 3}, {dtype.Shape{0, 3}, []int{3, 1}, 0, 1},
	{dtype.Shape{2, 1, 2, 1, 3}, []int{5, 9, 11, 2, 25}, 0, 70},
}

var repeatCases = []viewCase{
	{dtype.Shape{4, 5}, []int{0, 1}, 0, 5}, {dtype.Shape{4, 5}, []int{1, 0}, 0, 4},
	{dtype.Shape{3, 4, 5}, []int{4, 1, 0}, 0, 12}, {dtype.Shape{3, 4, 5}, []int{0, 0, 0}, 1, 2},
}

func (c viewCase) at(i int) int {
	at := c.offset
	for a := len(c.shape) - 1; a >= 0; a-- {
		at += i % c.shape[a] * c.strides[a]
		i /= c.shape[a]
	}
	return at
}

func testView[T comparable](t *testing.T, make1 func(i int) T) {
	size := int(unsafe.Sizeof(*new(T)))
	for _, c := range append(append([]viewCase{}, viewCases...), repeatCases...) {
		k, ok := cpu.NewView(c.shape, c.strides, c.offset, size, 2)
		if !ok {
			t.Fatalf("%v: not supported", c)
		}
		mem, dense := make([]T, c.memory), make([]T, c.shape.Size()+2)
		for i := range mem {
			mem[i] = make1(i)
		}
		dense[len(dense)-1] = make1(77)
		k.Gather(unsafe.Pointer(&dense[0]), unsafe.Pointer(&mem[0]))
		for i := range c.shape.Size() {
			if dense[i] != mem[c.at(i)] {
				t.Fatalf("%v of %d bytes: gathered element %d is %v, want %v", c, size, i, dense[i],
					mem[c.at(i)])
			}
		}
		if dense[len(dense)-1] != make1(77) {
			t.Fatalf("%v: wrote beyond the array", c)
		}
	}
}

func TestView(t *testing.T) {
	testView(t, func(i int) uint8 { return uint8(i*7 + 1) })
	testView(t, func(i int) uint16 { return uint16(i + 1) })
	testView(t, func(i int) float32 { return float32(i + 1) })
	testView(t, func(i int) int64 { return int64(i + 1) })
}

func TestRows(t *testing.T) {
	src, dst := []byte("abcdefghij"), []byte("..........")
	cpu.Rows{Count: 2, Bytes: 2, DPitch: 3, SPitch: 5, Threads: 1}.Copy(unsafe.Pointer(&dst[1]),
		unsafe.Pointer(&src[0]))
	if got, want := string(dst), ".ab.fg...."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCast(t *testing.T) {
	x := []float32{0, 1, -1, 2.75, -2.75, 100, -100}
	n := len(x)
	i32, back := make([]int32, n), make([]float32, n)
	mustCast(t, dtype.Int32, dtype.Float32).Run(unsafe.Pointer(&i32[0]), unsafe.Pointer(&x[0]), n)
	mustCast(t, dtype.Float32, dtype.Int32).Run(unsafe.Pointer(&back[0]), unsafe.Pointer(&i32[0]),
		n)
	for i, v := range x {
		if want := float32(math.Trunc(float64(v))); back[i] != want {
			t.Errorf("%v through int32 = %v, want %v", v, back[i], want)
		}
	}
	for _, d := range []dtype.Type{dtype.Float64, dtype.Int8, dtype.Int64} {
		buf := make([]int64, n)
		mustCast(t, d, dtype.Int32).Run(unsafe.Pointer(&buf[0]), unsafe.Pointer(&i32[0]), n)
		mustCast(t, dtype.Int32, d).Run(unsafe.Pointer(&i32[0]), unsafe.Pointer(&buf[0]), n)
		if fmt.Sprint(i32) != "[0 1 -1 2 -2 100 -100]" {
			t.Errorf("int32 through %v = %v", d, i32)
		}
	}
	if _, ok := cpu.NewCast(dtype.Int16, dtype.Float32, 1); ok {
		t.Error("a conversion to int16 was accepted")
	}
}

func mustCast(t *testing.T, d, s dtype.Type) cpu.Cast {
	t.Helper()
	c, ok := cpu.NewCast(d, s, 2)
	if !ok {
		t.Fatalf("no conversion from %v to %v", s, d)
	}
	return c
}

func TestHalf(t *testing.T) {
	h, f, back := make([]uint16, 1<<16), make([]float32, 1<<16), make([]uint16, 1<<16)
	for i := range h {
		h[i] = uint16(i)
	}
	mustCast(t, dtype.Float32, dtype.Float16).Run(unsafe.Pointer(&f[0]), unsafe.Pointer(&h[0]),
		len(h))
	mustCast(t, dtype.Float16, dtype.Float32).Run(unsafe.Pointer(&back[0]), unsafe.Pointer(&f[0]),
		len(h))
	for i := range h {
		want := dtype.Half(i).Float32()
		if f[i] != want && want == want {
			t.Fatalf("half %#x = %v, want %v", i, f[i], want)
		}
		if w := uint16(dtype.HalfOf(want)); back[i] != w {
			t.Fatalf("half of %v = %#x, want %#x", want, back[i], w)
		}
	}
	r := rng(t)
	for i := range f {
		f[i] = math.Float32frombits(r.Uint32())
	}
	mustCast(t, dtype.Float16, dtype.Float32).Run(unsafe.Pointer(&h[0]), unsafe.Pointer(&f[0]),
		len(h))
	mustCast(t, dtype.BFloat16, dtype.Float32).Run(unsafe.Pointer(&back[0]), unsafe.Pointer(&f[0]),
		len(h))
	for i, v := range f {
		if w := uint16(dtype.HalfOf(v)); h[i] != w {
			t.Fatalf("half of %v = %#x, want %#x", v, h[i], w)
		}
		if w := uint16(dtype.BF16Of(v)); back[i] != w {
			t.Fatalf("bfloat16 of %v = %#x, want %#x", v, back[i], w)
		}
	}
	mustCast(t, dtype.Float32, dtype.BFloat16).Run(unsafe.Pointer(&f[0]), unsafe.Pointer(&back[0]),
		len(h))
	for i, b := range back {
		if w := dtype.BF16(b).Float32(); f[i] != w && w == w {
			t.Fatalf("bfloat16 %#x = %v, want %v", b, f[i], w)
		}
	}
}
