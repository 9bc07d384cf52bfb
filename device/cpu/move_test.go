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
	{dtype.Shape{6}, []int{1}, 0, 6}, {dtype.Shape{6}, []int{-1}, 5, 6}, {dtype.Shape{5}, []int{3}, 1, 16}, {dtype.Shape{5}, []int{-2}, 9, 10},
	{dtype.Shape{7, 5}, []int{1, 7}, 0, 35}, {dtype.Shape{100, 70}, []int{1, 100}, 0, 7000}, {dtype.Shape{65, 33}, []int{1, 65}, 0, 2145},
	{dtype.Shape{3, 40, 20}, []int{800, 1, 40}, 0, 2400}, {dtype.Shape{20, 3, 30}, []int{1, 20, 60}, 0, 1800}, {dtype.Shape{4, 3, 2}, []int{1, 4, 12}, 0, 24},
	{dtype.Shape{3, 4}, []int{10, 1}, 13, 60}, {dtype.Shape{2, 3, 4}, []int{-24, 8, -2}, 31, 48}, {dtype.Shape{}, nil, 2, 3}, {dtype.Shape{0, 3}, []int{3, 1}, 0, 1},
	{dtype.Shape{2, 1, 2, 1, 3}, []int{5, 9, 11, 2, 25}, 0, 70},
}

var repeatCases = []viewCase{
	{dtype.Shape{4, 5}, []int{0, 1}, 0, 5}, {dtype.Shape{4, 5}, []int{1, 0}, 0, 4}, {dtype.Shape{3, 4, 5}, []int{4, 1, 0}, 0, 12}, {dtype.Shape{3, 4, 5}, []int{0, 0, 0}, 1, 2},
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
	for n, c := range append(append([]viewCase{}, viewCases...), repeatCases...) {
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
				t.Fatalf("%v of %d bytes: gathered element %d is %v, want %v", c, size, i, dense[i], mem[c.at(i)])
			}
		}
		if dense[len(dense)-1] != make1(77) {
			t.Fatalf("%v: wrote beyond the array", c)
		}
		if n >= len(viewCases) {
			continue
		}
		got, want := make([]T, c.memory), make([]T, c.memory)
		for i := range c.shape.Size() {
			want[c.at(i)] = dense[i]
		}
		k.Scatter(unsafe.Pointer(&got[0]), unsafe.Pointer(&dense[0]))
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%v of %d bytes: scattered element %d is %v, want %v", c, size, i, got[i], want[i])
			}
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
	cpu.Rows{Count: 2, Bytes: 2, DPitch: 3, SPitch: 5, Threads: 1}.Copy(unsafe.Pointer(&dst[1]), unsafe.Pointer(&src[0]))
	if got, want := string(dst), ".ab.fg...."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCast(t *testing.T) {
	x := []float32{0, 1, -1, 2.75, -2.75, 100, -100}
	n := len(x)
	i32, back := make([]int32, n), make([]float32, n)
	mustCast(t, dtype.Int32, dtype.Float32).Run(unsafe.Pointer(&i32[0]), unsafe.Pointer(&x[0]), n)
	mustCast(t, dtype.Float32, dtype.Int32).Run(unsafe.Pointer(&back[0]), unsafe.Pointer(&i32[0]), n)
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
	if _, ok := cpu.NewCast(dtype.Bool, dtype.Float32, 1); ok {
		t.Error("a conversion to bool was accepted")
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
	mustCast(t, dtype.Float32, dtype.Float16).Run(unsafe.Pointer(&f[0]), unsafe.Pointer(&h[0]), len(h))
	mustCast(t, dtype.Float16, dtype.Float32).Run(unsafe.Pointer(&back[0]), unsafe.Pointer(&f[0]), len(h))
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
	mustCast(t, dtype.Float16, dtype.Float32).Run(unsafe.Pointer(&h[0]), unsafe.Pointer(&f[0]), len(h))
	mustCast(t, dtype.BFloat16, dtype.Float32).Run(unsafe.Pointer(&back[0]), unsafe.Pointer(&f[0]), len(h))
	for i, v := range f {
		if w := uint16(dtype.HalfOf(v)); h[i] != w {
			t.Fatalf("half of %v = %#x, want %#x", v, h[i], w)
		}
		if w := uint16(dtype.BF16Of(v)); back[i] != w {
			t.Fatalf("bfloat16 of %v = %#x, want %#x", v, back[i], w)
		}
	}
	mustCast(t, dtype.Float32, dtype.BFloat16).Run(unsafe.Pointer(&f[0]), unsafe.Pointer(&back[0]), len(h))
	for i, b := range back {
		if w := dtype.BF16(b).Float32(); f[i] != w && w == w {
			t.Fatalf("bfloat16 %#x = %v, want %v", b, f[i], w)
		}
	}
}

func TestLookup(t *testing.T) {
	r := rng(t)
	for _, l := range []cpu.Lookup{{N: 50, Rows: 7, Width: 5}, {N: 1000, Rows: 100, Width: 33}, {N: 9, Rows: 4, Width: 1, Wrap: true}, {N: 0, Rows: 3, Width: 2}} {
		l.Threads = 2
		table, index, s := random(r, l.Rows*l.Width), newGuarded(l.N), random(r, l.N*l.Width)
		d, g := newGuarded(l.N*l.Width), newGuarded(l.Rows*l.Width)
		wd, wg := make([]float64, l.N*l.Width), make([]float64, l.Rows*l.Width)
		for i := range index.v {
			k := r.IntN(3*l.Rows) - l.Rows
			index.v[i] = float32(k)
			if l.Wrap {
				k = (k + l.Rows) % l.Rows
			}
			k = max(0, min(k, l.Rows-1))
			for e := range l.Width {
				wd[i*l.Width+e] = float64(table.v[k*l.Width+e])
				wg[k*l.Width+e] += float64(s.v[i*l.Width+e])
			}
		}
		l.Run(d.ptr(), table.ptr(), index.ptr())
		near(t, "lookup", d.v, wd, 0)
		l.RunGrad(g.ptr(), s.ptr(), index.ptr())
		near(t, "gradient", g.v, wg, 1e-5)
		d.intact(t, "lookup")
		g.intact(t, "gradient")
	}
}

func TestOneHotAndMask(t *testing.T) {
	index := guarded{v: []float32{0, 2.9, -1, 3, float32(math.NaN()), -0.5}}
	d := newGuarded(18)
	cpu.OneHot{N: 6, Depth: 3, On: 2, Off: -1, Threads: 1}.Run(d.ptr(), index.ptr())
	want := []float64{2, -1, -1, -1, -1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, -1, -1}
	near(t, "one hot", d.v, want, 0)
	d.intact(t, "one hot")
	mask := []byte{1, 0, 2}
	x := guarded{v: []float32{3, float32(math.Inf(1)), -1}}
	cpu.Mask{N: 3, Scale: 2}.Run(x.ptr(), x.ptr(), unsafe.Pointer(&mask[0]))
	near(t, "mask", x.v, []float64{6, 0, -2}, 0)
}

func TestUniformAndDropout(t *testing.T) {
	r := rng(t)
	p := cpu.Philox{Key: r.Uint64(), Counter: r.Uint64() >> 1, Stream: 0}
	for _, n := range sizes {
		u, d, x, mask := newGuarded(n), newGuarded(n), random(r, n), make([]byte, n+1)
		cpu.Uniform{N: n, Low: -1, High: 3, Threads: 2}.Run(u.ptr(), p)
		cpu.Dropout{N: n, Keep: 0.7, Threads: 2}.Run(d.ptr(), unsafe.Pointer(&mask[0]), x.ptr(), p)
		for i := range n {
			unit := float64(philoxWord(p, i)>>8) / (1 << 24)
			if want := float32(-1 + 4*unit); u.v[i] != want {
				t.Fatalf("%d numbers: %d is %v, want %v", n, i, u.v[i], want)
			}
			want, kept := float32(0), byte(0)
			if unit < 0.7 {
				want, kept = x.v[i]*float32(1/0.7), 1
			}
			if d.v[i] != want || mask[i] != kept {
				t.Fatalf("%d elements: %d becomes %v with mask %d, want %v, %d", n, i, d.v[i], mask[i], want, kept)
			}
		}
		u.intact(t, "uniform")
		d.intact(t, "dropout")
		cpu.Dropout{N: n, Keep: 0.7}.Run(nil, unsafe.Pointer(&mask[0]), x.ptr(), p)
		cpu.Dropout{N: n, Keep: 0.7}.Run(d.ptr(), nil, x.ptr(), p)
	}
}

// philoxWord returns word i of a stream.
func philoxWord(p cpu.Philox, i int) uint32 {
	at := p.Counter + uint64(i/4)
	c := [4]uint32{uint32(at), uint32(at >> 32), p.Stream, 0}
	k0, k1 := uint32(p.Key), uint32(p.Key>>32)
	for range 10 {
		a, b := uint64(0xD2511F53)*uint64(c[0]), uint64(0xCD9E8D57)*uint64(c[2])
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k0, uint32(b), uint32(a>>32) ^ c[3] ^ k1, uint32(a)}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return c[i%4]
}
