//go:build cgo

package cpu_test

import (
	"math"
	"testing"
	"unsafe"

	"gomx/device/cpu"
	"gomx/dtype"
)

func TestLookup(t *testing.T) {
	r := rng(t)
	for _, l := range []cpu.Lookup{{N: 50, Rows: 7, Width: 5}, {N: 1000, Rows: 100, Width: 33},
		{N: 9, Rows: 4, Width: 1, Wrap: true}, {N: 0, Rows: 3, Width: 2}} {
		l.Threads, l.Outer = 2, 1
		l, _ = l.Indexed(dtype.Float32, dtype.Float32)
		table, index, s := random(r, l.Rows*l.Width), newGuarded(l.N), random(r, l.N*l.Width)
		d, g := newGuarded(l.N*l.Width), newGuarded(l.Rows*l.Width)
		wd, wg := make([]float64, l.N*l.Width), make([]float64, l.Rows*l.Width)
		terms := make([]float64, l.Rows*l.Width) // sums of the absolute values of the terms of wg
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
				terms[k*l.Width+e] += math.Abs(float64(s.v[i*l.Width+e]))
			}
		}
		scratch := make([]int64, l.N+1)
		l.Run(d.ptr(), table.ptr(), index.ptr(), unsafe.Pointer(&scratch[0]))
		near(t, "lookup", d.v, wd, 0)
		l.RunGrad(g.ptr(), s.ptr(), index.ptr())
		for i, w := range wg {
			if !(math.Abs(float64(g.v[i])-w) <= 2e-6*terms[i]) {
				t.Fatalf("gradient: element %d is %v, want %v", i, g.v[i], w)
			}
		}
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
				t.Fatalf("%d elements: %d becomes %v with mask %d, want %v, %d", n, i, d.v[i],
					mask[i], want, kept)
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
