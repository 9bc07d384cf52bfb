//go:build cgo

package cpu_test

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"gomx/device/cpu"
	"gomx/device/cpu/pure"
)

func TestUpdates(t *testing.T) {
	r := rng(t)
	u := cpu.Update{LR: 0.1, WD: 0.01, Rescale: 0.5, Clip: 0.6, Momentum: 0.9, Beta1: 0.9,
		Beta2: 0.99, E: 1e-8, Threads: 2}
	clip := func(g float64) float64 { return math.Max(-0.6, math.Min(0.6, g)) }
	rules := map[string]struct {
		run  func(u *cpu.Update, out, w, g, a, b guarded)
		step func(w, g, a, b float64) (w2, a2, b2 float64)
	}{
		"sgd": {func(u *cpu.Update, out, w, g, a, b guarded) { u.SGD(out.ptr(), w.ptr(), g.ptr()) },
			func(w, g, a, b float64) (float64, float64, float64) {
				return w*(1-0.001) - 0.1*clip(0.5*g), a, b
			}},
		"momentum": {func(u *cpu.Update, out, w, g, a, b guarded) {
			u.SGDMomentum(out.ptr(), w.ptr(), g.ptr(), a.ptr())
		},
			func(w, g, a, b float64) (float64, float64, float64) {
				a = 0.9*a - 0.1*(clip(0.5*g)+0.01*w)
				return w + a, a, b
			}},
		"nag": {func(u *cpu.Update, out, w, g, a, b guarded) {
			u.NAG(out.ptr(), w.ptr(), g.ptr(), a.ptr())
		},
			func(w, g, a, b float64) (float64, float64, float64) {
				d := clip(0.5*g) + 0.01*w
				a = 0.9*a - 0.1*d
				return w + 0.9*a - 0.1*d, a, b
			}},
		"adam": {func(u *cpu.Update, out, w, g, a, b guarded) {
			u.Adam(out.ptr(), w.ptr(), g.ptr(), a.ptr(), b.ptr())
		},
			func(w, g, a, b float64) (float64, float64, float64) {
				d := clip(0.5*g + 0.01*w)
				a, b = 0.9*a+0.1*d, 0.99*b+0.01*d*d
				return w - 0.1*a/(math.Sqrt(b)+1e-8), a, b
			}},
		"adagrad": {func(u *cpu.Update, out, w, g, a, b guarded) {
			copy(a.v, b.v) // a history is not negative
			u.AdaGrad(out.ptr(), w.ptr(), g.ptr(), a.ptr())
		},
			func(w, g, _, b float64) (float64, float64, float64) {
				d := clip(0.5 * g)
				sum := b + d*d
				return w - 0.1*(d/math.Sqrt(sum+1e-8)+0.01*w), sum, b
			}},
	}
	for name, rule := range rules {
		for _, n := range sizes {
			u.N = n
			w, g, a, b := random(r, n), random(r, n), random(r, n), random(r, n)
			ww, wa, wb := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				b.v[i] *= b.v[i]
				ww[i], wa[i], wb[i] = rule.step(float64(w.v[i]), float64(g.v[i]), float64(a.v[i]),
					float64(b.v[i]))
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
	u := cpu.Update{N: n, LR: 0.1, WD: 0.013, Rescale: 0.37, Clip: 0.6, Momentum: 0.9, Beta1: 0.9,
		Beta2: 0.999, E: 1e-8, Threads: 2}
	p := pure.Update{LR: 0.1, WD: 0.013, Rescale: 0.37, Clip: 0.6, Momentum: 0.9, Beta1: 0.9,
		Beta2: 0.999, E: 1e-8}
	w, g, a, b := random(r, n), random(r, n), random(r, n), random(r, n)
	for i := range b.v {
		b.v[i] *= b.v[i]
	}
	for name, run := range map[string][2]func(w, a, b guarded){
		"sgd": {func(w, a, b guarded) { u.SGD(w.ptr(), w.ptr(), g.ptr()) },
			func(w, a, b guarded) { p.SGD(w.v, w.v, g.v) }},
		"momentum": {func(w, a, b guarded) { u.SGDMomentum(w.ptr(), w.ptr(), g.ptr(), a.ptr()) },
			func(w, a, b guarded) { p.SGDMomentum(w.v, w.v, g.v, a.v) }},
		"nag": {func(w, a, b guarded) { u.NAG(w.ptr(), w.ptr(), g.ptr(), a.ptr()) },
			func(w, a, b guarded) { p.NAG(w.v, w.v, g.v, a.v) }},
		"adam": {func(w, a, b guarded) { u.Adam(w.ptr(), w.ptr(), g.ptr(), a.ptr(), b.ptr()) },
			func(w, a, b guarded) { p.Adam(w.v, w.v, g.v, a.v, b.v) }},
		"adagrad": {func(w, a, b guarded) { u.AdaGrad(w.ptr(), w.ptr(), g.ptr(), b.ptr()) },
			func(w, a, b guarded) { p.AdaGrad(w.v, w.v, g.v, b.v) }},
	} {
		w1, a1, b1, w2, a2, b2 := w.clone(), a.clone(), b.clone(), w.clone(), a.clone(), b.clone()
		run[0](w1, a1, b1)
		run[1](w2, a2, b2)
		if !slices.Equal(w1.v, w2.v) || !slices.Equal(a1.v, a2.v) || !slices.Equal(b1.v, b2.v) {
			t.Errorf("%s: C and Go differ", name)
		}
	}
}

// TestSteps compares steps by rows with steps of each row alone, bit by bit.
func TestSteps(t *testing.T) {
	r := rng(t)
	for _, n := range []int{1, 3, 16, 64, 65, 200} {
		const table, rows = 50, 20
		u := cpu.Update{N: n, LR: 0.1, WD: 0.013, Rescale: 0.37, Clip: 0.6, Momentum: 0.9,
			Beta1: 0.9, Beta2: 0.999, E: 1e-8, Threads: 2}
		w, g := random(r, table*n), random(r, rows*n)
		a, b := random(r, table*n), random(r, rows*n)
		for i := range b.v {
			b.v[i] *= b.v[i]
		}
		for i := range a.v {
			a.v[i] *= a.v[i]
		}
		at, from := make([]int64, rows), make([]int64, rows)
		for i, k := range r.Perm(table)[:rows] {
			at[i], from[i] = int64(k), int64(r.IntN(rows+1)-1)
		}
		zeros := newGuarded(n)
		clear(zeros.v)
		for rule, run := range map[cpu.Rule]func(w, g, a, b unsafe.Pointer){
			cpu.RuleSGD:         func(w, g, _, _ unsafe.Pointer) { u.SGD(w, w, g) },
			cpu.RuleSGDMomentum: func(w, g, a, _ unsafe.Pointer) { u.SGDMomentum(w, w, g, a) },
			cpu.RuleAdam:        func(w, g, a, b unsafe.Pointer) { u.Adam(w, w, g, a, b) },
			cpu.RuleAdaGrad:     func(w, g, a, _ unsafe.Pointer) { u.AdaGrad(w, w, g, a) },
		} {
			w1, a1, b1, w2, a2, b2 := w.clone(), a.clone(), b.clone(), w.clone(), a.clone(), b.clone()
			u.Step(rule, rows, cpu.Table{V: w1.ptr(), At: at}, cpu.Table{V: g.ptr(), At: from},
				cpu.Table{V: a1.ptr(), At: at}, cpu.Table{V: b1.ptr()})
			for i := range rows {
				d := unsafe.Pointer(&zeros.v[0])
				if from[i] >= 0 {
					d = unsafe.Pointer(&g.v[int(from[i])*n])
				}
				run(unsafe.Pointer(&w2.v[int(at[i])*n]), d, unsafe.Pointer(&a2.v[int(at[i])*n]),
					unsafe.Pointer(&b2.v[i*n]))
			}
			if !slices.Equal(w1.v, w2.v) || !slices.Equal(a1.v, a2.v) || !slices.Equal(b1.v, b2.v) {
				t.Errorf("rule %d, rows of %d: differs from steps row by row", rule, n)
			}
			for _, v := range []guarded{w1, a1, b1} {
				v.intact(t, "step by rows")
			}
		}
	}
}
