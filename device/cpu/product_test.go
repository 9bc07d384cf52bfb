//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gomx/device/cpu"
	"gomx/device/cpu/pure"
)

func product(g cpu.Gemm, c, a, b []float32) []float64 {
	want := make([]float64, g.M*g.N)
	for i := range g.M {
		for j := range g.N {
			sum := 0.0
			for k := range g.K {
				ai, bi := i*g.K+k, k*g.N+j
				if g.TransA {
					ai = k*g.M + i
				}
				if g.TransB {
					bi = j*g.K + k
				}
				sum += float64(a[ai]) * float64(b[bi])
			}
			want[i*g.N+j] = float64(g.Alpha) * sum
			if g.Beta != 0 {
				want[i*g.N+j] += float64(g.Beta) * float64(c[i*g.N+j])
			}
		}
	}
	return want
}

func TestGemm(t *testing.T) {
	r := rng(t)
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {33, 10, 65}, {64, 500, 80}, {5, 1, 9}, {1, 9, 100}, {0, 3, 2}, {3, 0, 2}, {3, 4, 0}} {
		for v := range 8 {
			g := cpu.Gemm{M: s[0], N: s[1], K: s[2], TransA: v&1 != 0, TransB: v&2 != 0, Alpha: 1.5, Threads: 2}
			if v&4 != 0 {
				g.Beta = 0.5
			}
			a, b, c := random(r, g.M*g.K), random(r, g.K*g.N), random(r, g.M*g.N)
			if g.Beta == 0 {
				for i := range c.v {
					c.v[i] = float32(math.NaN()) // must not be read
				}
			}
			want := product(g, c.v, a.v, b.v)
			if err := g.Run(c.ptr(), a.ptr(), b.ptr()); err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprint(g), c.v, want, 2e-5)
			c.intact(t, fmt.Sprint(g))
		}
	}
}

func TestGemmBatchAndDense(t *testing.T) {
	r := rng(t)
	for _, count := range []int{0, 1, 3, 9} {
		g := cpu.Gemm{M: 5, N: 6, K: 7, TransB: true, Alpha: 1, Threads: 2}
		a, b, c := random(r, count*35), random(r, count*42), newGuarded(count*30)
		if err := g.RunBatch(c.ptr(), a.ptr(), b.ptr(), count); err != nil {
			t.Fatal(err)
		}
		for i := range count {
			near(t, fmt.Sprint("batch ", i), c.v[i*30:i*30+30], product(g, nil, a.v[i*35:i*35+35], b.v[i*42:i*42+42]), 2e-5)
		}
		c.intact(t, "batch")
	}
	d := cpu.Dense{Rows: 9, In: 20, Out: 11, Threads: 2}
	x, w, bias, y := random(r, 180), random(r, 220), random(r, 11), newGuarded(99)
	if err := d.Run(y.ptr(), x.ptr(), w.ptr(), bias.ptr()); err != nil {
		t.Fatal(err)
	}
	want := product(cpu.Gemm{M: 9, N: 11, K: 20, TransB: true, Alpha: 1}, nil, x.v, w.v)
	for i := range want {
		want[i] += float64(bias.v[i%11])
	}
	near(t, "dense", y.v, want, 2e-5)
}

func TestUpdates(t *testing.T) {
	r := rng(t)
	u := cpu.Update{LR: 0.1, WD: 0.01, Rescale: 0.5, Clip: 0.6, Momentum: 0.9, Beta1: 0.9, Beta2: 0.99, E: 1e-8, Threads: 2}
	clip := func(g float64) float64 { return math.Max(-0.6, math.Min(0.6, g)) }
	rules := map[string]struct {
		run  func(u *cpu.Update, out, w, g, a, b guarded)
		step func(w, g, a, b float64) (w2, a2, b2 float64)
	}{
		"sgd": {func(u *cpu.Update, out, w, g, a, b guarded) { u.SGD(out.ptr(), w.ptr(), g.ptr()) },
			func(w, g, a, b float64) (float64, float64, float64) { return w*(1-0.001) - 0.1*clip(0.5*g), a, b }},
		"momentum": {func(u *cpu.Update, out, w, g, a, b guarded) { u.SGDMomentum(out.ptr(), w.ptr(), g.ptr(), a.ptr()) },
			func(w, g, a, b float64) (float64, float64, float64) {
				a = 0.9*a - 0.1*(clip(0.5*g)+0.01*w)
				return w + a, a, b
			}},
		"nag": {func(u *cpu.Update, out, w, g, a, b guarded) { u.NAG(out.ptr(), w.ptr(), g.ptr(), a.ptr()) },
			func(w, g, a, b float64) (float64, float64, float64) {
				d := clip(0.5*g) + 0.01*w
				a = 0.9*a - 0.1*d
				return w + 0.9*a - 0.1*d, a, b
			}},
		"adam": {func(u *cpu.Update, out, w, g, a, b guarded) { u.Adam(out.ptr(), w.ptr(), g.ptr(), a.ptr(), b.ptr()) },
			func(w, g, a, b float64) (float64, float64, float64) {
				d := clip(0.5*g + 0.01*w)
				a, b = 0.9*a+0.1*d, 0.99*b+0.01*d*d
				return w - 0.1*a/(math.Sqrt(b)+1e-8), a, b
			}},
	}
	for name, rule := range rules {
		for _, n := range sizes {
			u.N = n
			w, g, a, b := random(r, n), random(r, n), random(r, n), random(r, n)
			ww, wa, wb := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				b.v[i] *= b.v[i]
				ww[i], wa[i], wb[i] = rule.step(float64(w.v[i]), float64(g.v[i]), float64(a.v[i]), float64(b.v[i]))
			}
			a2, b2, out := a.clone(), b.clone(), newGuarded(n)
			rule.run(&u, out, w, g, a2, b2)
			near(t, name+" weight", out.v, ww, 1e-5)
			near(t, name+" state", a2.v, wa, 1e-5)
			near(t, name+" second state", b2.v, wb, 1e-5)
			rule.run(&u, w, w, g, a, b)
			if !slices.Equal(w.v, out.v) || !slices.Equal(a.v, a2.v) {
				t.Errorf("%s in place differs", name)
			}
			for _, v := range []guarded{w, a, b, out} {
				v.intact(t, name)
			}
		}
	}
}

func TestUpdatesAgreeWithPureGo(t *testing.T) {
	r := rng(t)
	const n = 1000
	u := cpu.Update{N: n, LR: 0.1, WD: 0.013, Rescale: 0.37, Clip: 0.6, Momentum: 0.9, Beta1: 0.9, Beta2: 0.999, E: 1e-8, Threads: 2}
	p := pure.Update{LR: 0.1, WD: 0.013, Rescale: 0.37, Clip: 0.6, Momentum: 0.9, Beta1: 0.9, Beta2: 0.999, E: 1e-8}
	w, g, a, b := random(r, n), random(r, n), random(r, n), random(r, n)
	for i := range b.v {
		b.v[i] *= b.v[i]
	}
	for name, run := range map[string][2]func(w, a, b guarded){
		"sgd":      {func(w, a, b guarded) { u.SGD(w.ptr(), w.ptr(), g.ptr()) }, func(w, a, b guarded) { p.SGD(w.v, w.v, g.v) }},
		"momentum": {func(w, a, b guarded) { u.SGDMomentum(w.ptr(), w.ptr(), g.ptr(), a.ptr()) }, func(w, a, b guarded) { p.SGDMomentum(w.v, w.v, g.v, a.v) }},
		"nag":      {func(w, a, b guarded) { u.NAG(w.ptr(), w.ptr(), g.ptr(), a.ptr()) }, func(w, a, b guarded) { p.NAG(w.v, w.v, g.v, a.v) }},
		"adam": {func(w, a, b guarded) { u.Adam(w.ptr(), w.ptr(), g.ptr(), a.ptr(), b.ptr()) },
			func(w, a, b guarded) { p.Adam(w.v, w.v, g.v, a.v, b.v) }},
	} {
		w1, a1, b1, w2, a2, b2 := w.clone(), a.clone(), b.clone(), w.clone(), a.clone(), b.clone()
		run[0](w1, a1, b1)
		run[1](w2, a2, b2)
		if !slices.Equal(w1.v, w2.v) || !slices.Equal(a1.v, a2.v) || !slices.Equal(b1.v, b2.v) {
			t.Errorf("%s: C and Go differ", name)
		}
	}
}
