//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gomx/device/cpu"
	"gomx/dtype"
)

type fold struct {
	op   cpu.ReduceOp
	init float64
	f    func(acc, x float64) float64
}

var folds = []fold{
	{cpu.Sum, 0, func(a, x float64) float64 { return a + x }},
	{cpu.SumSquare, 0, func(a, x float64) float64 { return a + x*x }},
	{cpu.Prod, 1, func(a, x float64) float64 { return a * x }},
	{cpu.MaxOf, math.Inf(-1), math.Max},
	{cpu.MinOf, math.Inf(1), math.Min},
}

var reduceCases = []struct {
	shape dtype.Shape
	axes  []bool
}{
	{dtype.Shape{7}, []bool{true}}, {dtype.Shape{7}, []bool{false}},
	{dtype.Shape{100000}, []bool{true}},
	{dtype.Shape{5, 70}, []bool{false, true}}, {dtype.Shape{5, 70}, []bool{true, false}},
	{dtype.Shape{5, 70}, []bool{true, true}},
	{dtype.Shape{3000, 20}, []bool{true, false}}, {dtype.Shape{4, 3, 50},
		[]bool{true, false, true}}, {dtype.Shape{4, 3, 50}, []bool{false, true, false}},
	{dtype.Shape{2, 3, 4, 5}, []bool{true, false, true, false}}, {dtype.Shape{2, 3, 4, 5, 6},
		[]bool{true, false, true, false, true}},
	{dtype.Shape{64, 500}, []bool{true, false}}, {dtype.Shape{1, 3, 1}, []bool{true, false, true}},
	{dtype.Shape{}, nil},
	{dtype.Shape{0, 3}, []bool{true, false}}, {dtype.Shape{3, 0}, []bool{true, false}},
	{dtype.Shape{1, 1}, []bool{true, true}},
}

func TestReduce(t *testing.T) {
	r := rng(t)
	for _, c := range reduceCases {
		for _, f := range folds {
			x := random(r, c.shape.Size())
			if f.op == cpu.Prod && len(x.v) > 10000 {
				continue // rounding adds up
			}
			if f.op == cpu.Prod {
				for i := range x.v {
					x.v[i] = 1 + x.v[i]/float32(len(x.v))
				}
			}
			kept := c.shape.Clone()
			for i, red := range c.axes {
				if red {
					kept[i] = 1
				}
			}
			want := slices.Repeat([]float64{f.init}, kept.Size())
			terms := make([]float64, kept.Size()) // Euclidean norms of the terms of want
			for i, v := range x.v {
				o := readAt(kept, c.shape, i)
				want[o] = f.f(want[o], float64(v))
				terms[o] = math.Hypot(terms[o], 0.5*float64(v))
			}
			for i := range want {
				want[i] *= 0.5
			}
			k := cpu.NewReduce(f.op, c.shape, c.axes, 0.5, 2)
			d, work := newGuarded(len(want)), scratch(t, k.Scratch())
			k.Run(d.ptr(), x.ptr(), work)
			what := fmt.Sprint(c.shape, c.axes, f.op)
			for i, w := range want {
				// A sum that cancels keeps the rounding of its terms.
				if g := float64(d.v[i]); g != w &&
					!(math.Abs(g-w) <= 2e-5*(1+max(math.Abs(w), terms[i]))) {
					t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
				}
			}
			d.intact(t, what)
			again := cpu.NewReduce(f.op, c.shape, c.axes, 0.5, 1)
			e := newGuarded(len(want))
			again.Run(e.ptr(), x.ptr(), work)
			if !slices.Equal(d.v, e.v) {
				t.Fatalf("%s: one thread and two differ", what)
			}
		}
	}
}

func TestReduceKeepsNaN(t *testing.T) {
	x := random(rng(t), 1000)
	x.v[333] = float32(math.NaN())
	for _, op := range []cpu.ReduceOp{cpu.MaxOf, cpu.MinOf, cpu.Sum} {
		k := cpu.NewReduce(op, dtype.Shape{1000}, []bool{true}, 1, 1)
		d := newGuarded(1)
		k.Run(d.ptr(), x.ptr(), scratch(t, k.Scratch()))
		if d.v[0] == d.v[0] {
			t.Errorf("reduction %d of NaN = %v, want NaN", op, d.v[0])
		}
	}
}

func TestArg(t *testing.T) {
	r := rng(t)
	for _, a := range []cpu.Axis3{{1, 1, 1}, {3, 7, 1}, {2, 5, 4}, {40, 10, 1}, {0, 3, 2}} {
		x := random(r, a.Outer*a.N*a.Inner)
		for i := range x.v {
			x.v[i] = float32(math.Round(float64(x.v[i]))) // many equal ones
		}
		hi, lo := newGuarded(a.Outer*a.Inner), newGuarded(a.Outer*a.Inner)
		cpu.ArgMax(hi.ptr(), x.ptr(), a, 2)
		cpu.ArgMin(lo.ptr(), x.ptr(), a, 2)
		for i := range hi.v {
			base := i/a.Inner*a.N*a.Inner + i%a.Inner
			best, least := 0, 0
			for k := range a.N {
				if x.v[base+k*a.Inner] > x.v[base+best*a.Inner] {
					best = k
				}
				if x.v[base+k*a.Inner] < x.v[base+least*a.Inner] {
					least = k
				}
			}
			if hi.v[i] != float32(best) || lo.v[i] != float32(least) {
				t.Fatalf("%v: argmax, argmin %d = %v, %v, want %d, %d", a, i, hi.v[i], lo.v[i],
					best, least)
			}
		}
	}
}
