//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gomx/device/cpu"
	"gomx/dtype"
)

// Kernels for bfloat16 compute in float32: their results equal the rounded results of the kernels
// for float32 from the same numbers.

// halves are bfloat16 numbers between two borders of NaN.
type halves struct{ all, v []dtype.BF16 }

func newHalves(n int) halves {
	all := make([]dtype.BF16, n+2*border)
	for i := range all {
		all[i] = 0x7fc1
	}
	return halves{all, all[border : border+n : border+n]}
}

func randomHalves(r *rand.Rand, n int) halves { return rounded(random(r, n).v) }

// rounded returns the numbers of x as bfloat16.
func rounded(x []float32) halves {
	h := newHalves(len(x))
	for i, f := range x {
		h.v[i] = dtype.BF16Of(f)
	}
	return h
}

// wide returns the numbers as float32.
func (h halves) wide() guarded {
	g := newGuarded(len(h.v))
	for i, b := range h.v {
		g.v[i] = b.Float32()
	}
	return g
}

func (h halves) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(h.v)) }

// is fails the test where numbers differ from the rounded ones of want, or a border has changed.
func (h halves) is(t *testing.T, what string, want []float32) {
	t.Helper()
	for i, b := range h.v {
		w := dtype.BF16Of(want[i])
		if b != w && !(b&0x7fff == 0 && w&0x7fff == 0) &&
			(b.Float32() == b.Float32() || want[i] == want[i]) {
			t.Fatalf("%s: %v at %d of %d, want %v", what, b.Float32(), i, len(h.v), w.Float32())
		}
	}
	for _, b := range slices.Concat(h.all[:border], h.all[border+len(h.v):]) {
		if b != 0x7fc1 {
			t.Fatalf("%s: wrote beyond the array", what)
		}
	}
}

// TestNarrowChain compares random chains of bfloat16 arrays with their steps, each of which rounds.
func TestNarrowChain(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 10))
		c := newChainCase(rng)
		var in, out []unsafe.Pointer
		var data, made []halves
		for i := range c.in {
			data = append(data, rounded(c.data[i]))
			c.data[i] = data[i].wide().v
			in = append(in, data[i].ptr())
		}
		want := c.rounded()
		k, ok := cpu.NewNarrowChain(c.in, c.steps, c.outs, 1+rng.IntN(2))
		if !ok {
			t.Fatalf("seed %d: %d steps are refused", seed, len(c.steps))
		}
		free := rng.IntN(len(c.in) + 1) // an input that an output replaces, where sizes are equal
		for range c.outs {
			m := newHalves(c.n)
			if free < len(c.in) && c.in[free].Size == 0 {
				m, free = data[free], len(c.in)
			}
			made = append(made, m)
			out = append(out, m.ptr())
		}
		k.Run(out, in, c.n)
		for o, v := range c.outs {
			made[o].is(t, fmt.Sprintf("seed %d, output %d", seed, o), want[v])
		}
	}
}

// rounded is want with the results of all steps rounded to bfloat16.
func (c *chainCase) rounded() [][]float32 {
	steps := c.steps
	defer func() { c.steps = steps }()
	var values [][]float32
	for i := range steps {
		// One step at a time: the values before are inputs
		one := *c
		one.steps = nil
		if i == 0 {
			values = one.want()
		}
		one.in = append(slices.Clone(c.in), make([]cpu.Repeat, i)...)
		one.data = append(slices.Clone(c.data), values[len(c.in):]...)
		one.steps = steps[i : i+1]
		last := one.want()
		values = append(values, rounded(last[len(last)-1]).wide().v)
	}
	return values
}

func TestNarrowBlockedNorm(t *testing.T) {
	r := rng(t)
	for i := range 64 {
		a := []cpu.Axis3{{Outer: 3, N: 32, Inner: 25}, {Outer: 2, N: 16, Inner: 300}}[i%2]
		n := a.Outer * a.N * a.Inner
		k := cpu.BlockedNorm{BatchNorm: cpu.BatchNorm{Axis: a, Eps: 1e-3, Momentum: 0.9,
			FixGamma: i&2 > 0, Learn: i&4 > 0, Threads: 1 + i/60}, ReLU: i&8 > 0}
		sum, known := i&16 > 0, i&32 > 0 || i&16 > 0
		what := fmt.Sprintf("%+v, sum %v", k, sum)
		x, s, dy := randomHalves(r, n), randomHalves(r, n), randomHalves(r, n)
		gamma, beta, scratch := random(r, a.N), random(r, a.N), newGuarded(k.Scratch())
		stats := func() (list [4]guarded) {
			for j := range list {
				list[j] = newGuarded(a.N)
				for c := range a.N {
					list[j].v[c] = float32(c)/20 + 0.2
				}
			}
			return list
		}
		room := unsafe.Add(scratch.ptr(), (64-uintptr(scratch.ptr())%64)%64)
		run := func(narrow bool, y, x, s unsafe.Pointer) [4]guarded {
			k, m := k, stats()
			k.Narrow = narrow
			o := cpu.BlockedNormCall{Norm: cpu.Norm{Y: y, Mean: m[0].ptr(), Inv: m[1].ptr(),
				MovingMean: m[2].ptr(), MovingVar: m[3].ptr(), X: x, Gamma: gamma.ptr(),
				Beta: beta.ptr()}, Scratch: room}
			if sum {
				o.Sum = s
			}
			k.Run(o)
			return m
		}
		y, wantY := newHalves(n), newGuarded(n)
		got, want := run(true, y.ptr(), x.ptr(), s.ptr()),
			run(false, wantY.ptr(), x.wide().ptr(), s.wide().ptr())
		y.is(t, what, wantY.v)
		for j := range got {
			if !slices.Equal(got[j].v, want[j].v) {
				t.Fatalf("%s: statistic %d is %v, want %v", what, j, got[j].v, want[j].v)
			}
		}
		grad := func(narrow bool, dx, ds, dy, x, y unsafe.Pointer) [2]guarded {
			k, d := k, [2]guarded{newGuarded(a.N), newGuarded(a.N)}
			k.Narrow = narrow
			o := cpu.BlockedNormGradCall{NormGrad: cpu.NormGrad{DX: dx, DGamma: d[0].ptr(),
				DBeta: d[1].ptr(), DY: dy, X: x, Gamma: gamma.ptr(), Mean: got[0].ptr(),
				Inv: got[1].ptr()}, Beta: beta.ptr(), Scratch: room}
			if known {
				o.Y = y
			}
			if sum {
				o.DSum = ds
			}
			k.RunGrad(o)
			return d
		}
		dx, ds, wantDX, wantDS := newHalves(n), newHalves(n), newGuarded(n), newGuarded(n)
		d := grad(true, dx.ptr(), ds.ptr(), dy.ptr(), x.ptr(), y.ptr())
		w := grad(false, wantDX.ptr(), wantDS.ptr(), dy.wide().ptr(), x.wide().ptr(), y.wide().ptr())
		dx.is(t, what+": dx", wantDX.v)
		if sum {
			ds.is(t, what+": gradient of the sum", wantDS.v)
		}
		if !slices.Equal(d[0].v, w[0].v) || !slices.Equal(d[1].v, w[1].v) {
			t.Fatalf("%s: gradients of gamma and beta differ", what)
		}
	}
}

func TestNarrowPoolGrad(t *testing.T) {
	r := rng(t)
	for _, typ := range []cpu.PoolType{cpu.PoolMax, cpu.PoolAvg, cpu.PoolSum} {
		s := cpu.PoolSpec{Type: typ, Planes: 5, In: []int{9, 7}, Out: []int{5, 4},
			Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1}, Threads: 2}
		in, out := 5*9*7*16, 5*5*4*16
		x, dy := randomHalves(r, in), randomHalves(r, out)
		y := newHalves(out) // maxima, some of which occur twice
		for i := range y.v {
			y.v[i] = x.v[(i/16/20*63+i/16%20)*16+i%16]
		}
		k := cpu.NewPool(s)
		dx, want, scratch := newHalves(in), newGuarded(in), newGuarded(k.NarrowScratch()/4)
		k.RunNarrowGrad(dx.ptr(), dy.ptr(), x.ptr(), y.ptr(), scratch.ptr())
		k.RunBlockedGrad(want.ptr(), dy.wide().ptr(), x.wide().ptr(), y.wide().ptr())
		dx.is(t, fmt.Sprint("type ", typ), want.v)
		scratch.intact(t, "scratch")
	}
}

func TestNarrowRowNorm(t *testing.T) {
	r := rng(t)
	for _, k := range []cpu.RowNorm{{Rows: 5, N: 77, Params: 77, PerElement: true},
		{Rows: 3, N: 9001, Params: 9001, PerElement: true}, {Rows: 6, N: 130, Params: 3},
		{Rows: 2, N: 17000, Params: 2}} {
		k.Eps, k.Threads = 1e-5, 2
		n := k.Rows * k.N
		x, dy, gamma, beta := randomHalves(r, n), randomHalves(r, n), random(r, k.Params),
			random(r, k.Params)
		run := func(narrow bool, y, x, dx, dy unsafe.Pointer) (list []guarded) {
			k := k
			k.Narrow = narrow
			mean, std, dg, db := newGuarded(k.Rows), newGuarded(k.Rows), newGuarded(k.Params),
				newGuarded(k.Params)
			k.Run(&cpu.RowNormed{Y: y, Mean: mean.ptr(), Std: std.ptr(), X: x, Gamma: gamma.ptr(),
				Beta: beta.ptr()})
			scratch := newGuarded(k.GradScratch() / 4)
			k.RunGrad(&cpu.RowNormGrads{DX: dx, DGamma: dg.ptr(), DBeta: db.ptr(), DY: dy, X: x,
				Gamma: gamma.ptr(), Mean: mean.ptr(), Std: std.ptr()}, scratch.ptr())
			return []guarded{mean, std, dg, db}
		}
		y, dx, wantY, wantDX := newHalves(n), newHalves(n), newGuarded(n), newGuarded(n)
		got := run(true, y.ptr(), x.ptr(), dx.ptr(), dy.ptr())
		want := run(false, wantY.ptr(), x.wide().ptr(), wantDX.ptr(), dy.wide().ptr())
		y.is(t, fmt.Sprint(k), wantY.v)
		dx.is(t, fmt.Sprint(k, ", gradient"), wantDX.v)
		for i := range got {
			if !slices.Equal(got[i].v, want[i].v) {
				t.Errorf("%+v: result %d differs", k, i)
			}
		}
	}
}

func TestNarrowSoftmax(t *testing.T) {
	r := rng(t)
	for _, n := range []int{1, 5, 128, 1000, 8192} {
		for _, log := range []bool{false, true} {
			s := cpu.Softmax{Axis: cpu.Axis3{Outer: 5, N: n, Inner: 1}, Temperature: 1.5, Log: log,
				Threads: 2}
			narrow := s
			narrow.Narrow = true
			x, y, want := randomHalves(r, 5*n), newHalves(5*n), newGuarded(5*n)
			narrow.Run(y.ptr(), x.ptr())
			s.Run(want.ptr(), x.wide().ptr())
			y.is(t, fmt.Sprint(n, log), want.v)
			dy, dx := randomHalves(r, 5*n), newHalves(5*n)
			narrow.RunGrad(dx.ptr(), dy.ptr(), y.ptr())
			s.RunGrad(want.ptr(), dy.wide().ptr(), y.wide().ptr())
			dx.is(t, fmt.Sprint(n, log, " gradient"), want.v)
		}
	}
	if (cpu.Softmax{Axis: cpu.Axis3{Outer: 1, N: 8193, Inner: 1}}).CanNarrow() {
		t.Error("rows beyond the limit are taken")
	}
}

func TestNarrowAttentionGrad(t *testing.T) {
	r := rng(t)
	for _, k := range []cpu.Attention{{Batch: 2, N: 37, Keys: 150, Groups: 2, Group: 1, Size: 64},
		{Batch: 1, N: 70, Keys: 70, Groups: 1, Group: 3, Size: 20, Causal: true}} {
		k.Scale, k.Threads = 0.2, 2
		queries, keys := k.Batch*k.N*k.Groups*k.Group*k.Size, k.Batch*k.Keys*k.Groups*k.Size
		q, dy, key, v := randomHalves(r, queries), randomHalves(r, queries), randomHalves(r, keys),
			randomHalves(r, keys)
		lse, y := newGuarded(k.Batch*k.Groups*k.Group*k.N), newHalves(queries)
		run := func(narrow bool, o cpu.AttentionArrays, grads bool) {
			k := k
			k.Narrow = narrow
			scratch := newGuarded(k.Scratch(grads)/4 + 16)
			room := unsafe.Add(scratch.ptr(), (64-uintptr(scratch.ptr())%64)%64)
			if o.LSE = lse.ptr(); grads {
				k.RunGrad(&o, room)
			} else {
				k.Run(&o, room)
			}
		}
		run(true, cpu.AttentionArrays{Y: y.ptr(), Q: q.ptr(), K: key.ptr(), V: v.ptr()}, false)
		var got [3]halves
		var want [3]guarded
		for i, n := range []int{queries, keys, keys} {
			got[i], want[i] = newHalves(n), newGuarded(n)
		}
		run(true, cpu.AttentionArrays{Y: y.ptr(), Q: q.ptr(), K: key.ptr(), V: v.ptr(), DY: dy.ptr(),
			DQ: got[0].ptr(), DK: got[1].ptr(), DV: got[2].ptr()}, true)
		run(false, cpu.AttentionArrays{Y: y.wide().ptr(), Q: q.wide().ptr(), K: key.wide().ptr(),
			V: v.wide().ptr(), DY: dy.wide().ptr(), DQ: want[0].ptr(), DK: want[1].ptr(),
			DV: want[2].ptr()}, true)
		for i := range got {
			got[i].is(t, fmt.Sprintf("%+v, gradient %d", k, i), want[i].v)
		}
	}
}

func TestNarrowSums(t *testing.T) {
	r := rng(t)
	for _, k := range []cpu.NarrowSums{{Rows: 1, Cols: 3, Threads: 1}, {Rows: 200, Cols: 130, Threads: 2},
		{Rows: 33, Cols: 64, Threads: 2}} {
		x, got := randomHalves(r, k.Rows*k.Cols), newHalves(k.Cols)
		k.Run(got.ptr(), x.ptr())
		for c := range k.Cols {
			want := 0.0
			for i := range k.Rows {
				want += float64(x.v[i*k.Cols+c].Float32())
			}
			if d := math.Abs(float64(got.v[c].Float32()) - want); d > math.Abs(want)/256+1e-4 {
				t.Fatalf("%+v: column %d has %v, want %v", k, c, got.v[c].Float32(), want)
			}
		}
	}
}
