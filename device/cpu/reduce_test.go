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
	{cpu.SumAbs, 0, func(a, x float64) float64 { return a + math.Abs(x) }},
	{cpu.SumSquare, 0, func(a, x float64) float64 { return a + x*x }},
	{cpu.Prod, 1, func(a, x float64) float64 { return a * x }},
	{cpu.MaxOf, math.Inf(-1), math.Max},
	{cpu.MinOf, math.Inf(1), math.Min},
}

var reduceCases = []struct {
	shape dtype.Shape
	axes  []bool
}{
	{dtype.Shape{7}, []bool{true}}, {dtype.Shape{7}, []bool{false}}, {dtype.Shape{100000}, []bool{true}},
	{dtype.Shape{5, 70}, []bool{false, true}}, {dtype.Shape{5, 70}, []bool{true, false}}, {dtype.Shape{5, 70}, []bool{true, true}},
	{dtype.Shape{3000, 20}, []bool{true, false}}, {dtype.Shape{4, 3, 50}, []bool{true, false, true}}, {dtype.Shape{4, 3, 50}, []bool{false, true, false}},
	{dtype.Shape{2, 3, 4, 5}, []bool{true, false, true, false}}, {dtype.Shape{2, 3, 4, 5, 6}, []bool{true, false, true, false, true}},
	{dtype.Shape{64, 500}, []bool{true, false}}, {dtype.Shape{1, 3, 1}, []bool{true, false, true}}, {dtype.Shape{}, nil},
	{dtype.Shape{0, 3}, []bool{true, false}}, {dtype.Shape{3, 0}, []bool{true, false}}, {dtype.Shape{1, 1}, []bool{true, true}},
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
			for i, v := range x.v {
				o := readAt(kept, c.shape, i)
				want[o] = f.f(want[o], float64(v))
			}
			for i := range want {
				want[i] *= 0.5
			}
			k := cpu.NewReduce(f.op, c.shape, c.axes, 0.5, 2)
			d, work := newGuarded(len(want)), scratch(t, k.Scratch())
			k.Run(d.ptr(), x.ptr(), work)
			what := fmt.Sprint(c.shape, c.axes, f.op)
			near(t, what, d.v, want, 2e-5)
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
				t.Fatalf("%v: argmax, argmin %d = %v, %v, want %d, %d", a, i, hi.v[i], lo.v[i], best, least)
			}
		}
	}
}

var softmaxAxes = []cpu.Axis3{{1, 1, 1}, {5, 10, 1}, {3, 64, 1}, {2, 100, 1}, {3, 7, 5}, {2, 9, 70}, {0, 5, 1}, {4, 0, 1}}

func TestSoftmax(t *testing.T) {
	r := rng(t)
	for _, a := range softmaxAxes {
		for _, log := range []bool{false, true} {
			for _, temp := range []float32{1, 2.5, -1} {
				n := a.Outer * a.N * a.Inner
				x, d, dy, dx := random(r, n), newGuarded(n), random(r, n), newGuarded(n)
				for i := range x.v {
					x.v[i] *= 20
				}
				y, g := make([]float64, n), make([]float64, n)
				eachLine(a, func(at func(k int) int) {
					top, sum, dot := math.Inf(-1), 0.0, 0.0
					for k := range a.N {
						top = math.Max(top, float64(x.v[at(k)]/temp))
					}
					for k := range a.N {
						sum += math.Exp(float64(x.v[at(k)]/temp) - top)
					}
					for k := range a.N {
						y[at(k)] = float64(x.v[at(k)]/temp) - top - math.Log(sum)
						if !log {
							y[at(k)] = math.Exp(y[at(k)])
						}
						if dot += float64(dy.v[at(k)]) * y[at(k)]; log {
							dot += float64(dy.v[at(k)]) * (1 - y[at(k)])
						}
					}
					for k := range a.N {
						g[at(k)] = y[at(k)] * (float64(dy.v[at(k)]) - dot)
						if log {
							g[at(k)] = float64(dy.v[at(k)]) - math.Exp(y[at(k)])*dot
						}
						g[at(k)] /= float64(temp)
					}
				})
				s := cpu.Softmax{Axis: a, Temperature: temp, Log: log, Threads: 2}
				s.Run(d.ptr(), x.ptr())
				what := fmt.Sprint(a, log, temp)
				near(t, what, d.v, y, 1e-5)
				s.RunGrad(dx.ptr(), dy.ptr(), d.ptr())
				near(t, "gradient "+what, dx.v, g, 2e-5)
				d.intact(t, what)
				dx.intact(t, what)
				s.Run(x.ptr(), x.ptr())
				near(t, "in place "+what, x.v, y, 1e-5)
			}
		}
	}
}

// eachLine visits the lines along the axis; at gives the position of element k.
func eachLine(a cpu.Axis3, f func(at func(k int) int)) {
	for o := range a.Outer {
		for i := range a.Inner {
			f(func(k int) int { return (o*a.N+k)*a.Inner + i })
		}
	}
}

func TestSoftmaxLoss(t *testing.T) {
	r := rng(t)
	for _, a := range softmaxAxes[:6] {
		for _, s := range []cpu.SoftmaxLoss{{Scale: 2}, {Scale: 1, Smooth: 0.1}, {Scale: 3, Ignore: 2, UseIgnore: true}, {Scale: 1, Ignore: 1, Valid: true}} {
			s.Axis, s.Threads = a, 2
			n := a.Outer * a.N * a.Inner
			y, label, d := random(r, n), newGuarded(a.Outer*a.Inner), newGuarded(n)
			valid := 0
			for i := range label.v {
				label.v[i] = float32(r.IntN(a.N + 1))
				if int(label.v[i]) != s.Ignore {
					valid++
				}
			}
			want, line := make([]float64, n), 0
			eachLine(a, func(at func(k int) int) {
				l := int(label.v[line])
				line++
				for k := range a.N {
					target := float64(s.Smooth) / float64(max(a.N-1, 1))
					if k == l {
						target = 1 - float64(s.Smooth)
					}
					w := (float64(y.v[at(k)]) - target) * float64(s.Scale)
					if s.UseIgnore && l == s.Ignore {
						w = 0
					}
					if s.Valid {
						w /= float64(max(valid, 1))
					}
					want[at(k)] = w
				}
			})
			s.RunGrad(d.ptr(), y.ptr(), label.ptr())
			near(t, fmt.Sprint(s), d.v, want, 1e-6)
			d.intact(t, fmt.Sprint(s))
		}
	}
}
