//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/device/cpu"
)

var softmaxAxes = []cpu.Axis3{{1, 1, 1}, {5, 10, 1}, {3, 64, 1}, {2, 100, 1}, {3, 7, 5}, {2, 9, 70},
	{0, 5, 1}, {4, 0, 1}}

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
		for _, s := range []cpu.SoftmaxLoss{{Scale: 2}, {Scale: 1, Smooth: 0.1},
			{Scale: 3, Ignore: 2, UseIgnore: true}, {Scale: 1, Ignore: 1, Valid: true}} {
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
