//go:build cgo

package cpu_test

import (
	"math"
	"testing"

	"gomx/device/cpu"
)

func TestBatchNorm(t *testing.T) {
	r := rng(t)
	for _, a := range []cpu.Axis3{{4, 3, 25}, {7, 5, 1}, {1, 2, 200}, {2, 1, 64}} {
		for _, b := range []cpu.BatchNorm{{Learn: true}, {Learn: true, FixGamma: true}, {},
			{FixGamma: true}} {
			b.Axis, b.Eps, b.Momentum, b.Threads = a, 1e-3, 0.9, 2
			checkBatchNorm(t, b, func(n int) guarded { return random(r, n) })
		}
	}
}

func checkBatchNorm(t *testing.T, b cpu.BatchNorm, random func(n int) guarded) {
	t.Helper()
	a := b.Axis
	size, m := a.Outer*a.N*a.Inner, float64(a.Outer*a.Inner)
	x, dy, gamma, beta, mm, mv := random(size), random(size), random(a.N), random(a.N), random(a.N),
		random(a.N)
	y, dx, wm, wv := make([]float64, size), make([]float64, size), make([]float64, a.N),
		make([]float64, a.N)
	dgamma, dbeta, means, invs := make([]float64, a.N), make([]float64, a.N), make([]float64, a.N),
		make([]float64, a.N)
	for c := range a.N {
		mv.v[c] = mv.v[c]*mv.v[c] + 0.1
		each := func(f func(i int)) {
			for i := range size {
				if i/a.Inner%a.N == c {
					f(i)
				}
			}
		}
		mean, v, g := float64(mm.v[c]), float64(mv.v[c]), float64(gamma.v[c])
		wm[c], wv[c] = mean, v
		if b.FixGamma {
			g = 1
		}
		if b.Learn {
			mean, v = 0, 0
			each(func(i int) { mean += float64(x.v[i]) / m })
			each(func(i int) { v += (float64(x.v[i]) - mean) * (float64(x.v[i]) - mean) / m })
			wm[c], wv[c] = 0.9*wm[c]+0.1*mean, 0.9*wv[c]+0.1*v
		}
		inv := 1 / math.Sqrt(v+1e-3)
		means[c], invs[c] = mean, inv
		each(func(i int) {
			h := (float64(x.v[i]) - mean) * inv
			y[i] = h*g + float64(beta.v[c])
			dgamma[c] += float64(dy.v[i]) * h
			dbeta[c] += float64(dy.v[i])
		})
		each(func(i int) {
			dx[i] = float64(dy.v[i])
			if b.Learn {
				dx[i] -= dbeta[c]/m + (float64(x.v[i])-mean)*inv*dgamma[c]/m
			}
			dx[i] *= g * inv
		})
		if b.FixGamma {
			dgamma[c] = 0
		}
	}
	gy, gm, gi := newGuarded(size), newGuarded(a.N), newGuarded(a.N)
	b.Run(cpu.Norm{Y: gy.ptr(), Mean: gm.ptr(), Inv: gi.ptr(), X: x.ptr(), Gamma: gamma.ptr(),
		Beta: beta.ptr(), MovingMean: mm.ptr(), MovingVar: mv.ptr()})
	near(t, "y", gy.v, y, 2e-5)
	near(t, "mean", gm.v, means, 1e-5)
	near(t, "inv", gi.v, invs, 1e-5)
	near(t, "moving mean", mm.v, wm, 1e-5)
	near(t, "moving var", mv.v, wv, 1e-5)
	gx, gg, gb := newGuarded(size), newGuarded(a.N), newGuarded(a.N)
	o := cpu.NormGrad{DX: gx.ptr(), DGamma: gg.ptr(), DBeta: gb.ptr(), DY: dy.ptr(), X: x.ptr(),
		Gamma: gamma.ptr(), Mean: gm.ptr(), Inv: gi.ptr()}
	b.RunGrad(o)
	near(t, "dx", gx.v, dx, 5e-5)
	near(t, "dgamma", gg.v, dgamma, 5e-5)
	near(t, "dbeta", gb.v, dbeta, 5e-5)
	for _, g := range []guarded{gy, gm, gi, gx, gg, gb, mm, mv} {
		g.intact(t, "batch norm")
	}
	b.RunGrad(cpu.NormGrad{DBeta: gb.ptr(), DY: dy.ptr(), X: x.ptr(), Gamma: gamma.ptr(),
		Mean: gm.ptr(), Inv: gi.ptr()})
}
