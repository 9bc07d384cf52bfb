//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/device/cpu"
)

// toBlocks brings a plain array of (Outer, N, Inner) into blocks of 16 channels.
func toBlocks(a cpu.Axis3, g guarded) {
	copy(g.v, arrange(cpu.LayoutBlock16, []int{a.Outer, a.N, a.Inner, 1}, g).v)
}

// fromBlocks returns the plain elements of an array in blocks of 16 channels.
func fromBlocks(a cpu.Axis3, x []float32) []float32 {
	y := make([]float32, len(x))
	for i := range y {
		y[i] = x[inLayout(cpu.LayoutBlock16, []int{a.Outer, a.N, a.Inner, 1}, i)]
	}
	return y
}

// blockedCase is a norm with what follows it, and operands as plain arrays.
type blockedCase struct {
	cpu.BlockedNorm
	sum, known                 bool // add another array; backward is given the output
	x, s, dy, gamma, beta      guarded
	movingMean, movingVar      guarded
	y, dx, ds, mean, inv       []float64
	dgamma, dbeta, newMM, newV []float64
}

func TestBlockedNorm(t *testing.T) {
	r := rng(t)
	for _, a := range []cpu.Axis3{{Outer: 3, N: 32, Inner: 25}, {Outer: 7, N: 16, Inner: 1},
		{Outer: 2, N: 48, Inner: 300}, {Outer: 1, N: 16, Inner: 6}} {
		for i := range 32 {
			k := &blockedCase{sum: i&1 > 0, known: i&3 > 0}
			k.ReLU, k.FixGamma, k.Learn = i&2 > 0, i&4 > 0, i&8 > 0
			// few cases wait for threads
			k.Axis, k.Eps, k.Momentum, k.Threads = a, 1e-3, 0.9, 1+i/30
			t.Run(fmt.Sprintf("%v %+v sum %v", a, k.BlockedNorm, k.sum), func(t *testing.T) {
				size := a.Outer * a.N * a.Inner
				k.x, k.s, k.dy = random(r, size), random(r, size), random(r, size)
				k.gamma, k.beta, k.movingMean, k.movingVar = random(r, a.N), random(r, a.N),
					random(r, a.N), random(r, a.N)
				for c, v := range k.movingVar.v {
					k.movingVar.v[c] = v*v + 0.1
				}
				k.expect()
				k.check(t)
			})
		}
	}
}

// expect computes results in float64.
func (k *blockedCase) expect() {
	a := k.Axis
	size, count := len(k.x.v), float64(a.Outer*a.Inner)
	k.y, k.dx, k.ds = make([]float64, size), make([]float64, size), make([]float64, size)
	for _, v := range []*[]float64{&k.mean, &k.inv, &k.dgamma, &k.dbeta, &k.newMM, &k.newV} {
		*v = make([]float64, a.N)
	}
	for c := range a.N {
		each := func(f func(i int, x float64)) {
			for i := range size {
				if i/a.Inner%a.N == c {
					f(i, float64(k.x.v[i]))
				}
			}
		}
		mean, v := float64(k.movingMean.v[c]), float64(k.movingVar.v[c])
		k.newMM[c], k.newV[c] = mean, v
		if k.Learn {
			mean, v = 0, 0
			each(func(_ int, x float64) { mean += x / count })
			each(func(_ int, x float64) { v += (x - mean) * (x - mean) / count })
			k.newMM[c], k.newV[c] = 0.9*k.newMM[c]+0.1*mean, 0.9*k.newV[c]+0.1*v
		}
		inv, g := 1/math.Sqrt(v+float64(k.Eps)), 1.0
		if !k.FixGamma {
			g = float64(k.gamma.v[c])
		}
		k.mean[c], k.inv[c] = mean, inv
		each(func(i int, x float64) {
			k.y[i], k.ds[i] = (x-mean)*inv*g+float64(k.beta.v[c]), float64(k.dy.v[i])
			if k.sum {
				k.y[i] += float64(k.s.v[i])
			}
			if k.ReLU && math.Abs(k.y[i]) < 1e-4 {
				k.dy.v[i], k.ds[i] = 0, 0 // rounding decides on which side of zero it lies
			}
			if k.ReLU && k.y[i] <= 0 {
				k.y[i], k.ds[i] = 0, 0
			}
			k.dgamma[c] += k.ds[i] * (x - mean) * inv
			k.dbeta[c] += k.ds[i]
		})
		each(func(i int, x float64) {
			k.dx[i] = k.ds[i]
			if k.Learn {
				k.dx[i] -= k.dbeta[c]/count + (x-mean)*inv*k.dgamma[c]/count
			}
			k.dx[i] *= g * inv
		})
		if k.FixGamma {
			k.dgamma[c] = 0
		}
	}
}

func (k *blockedCase) check(t *testing.T) {
	a, size := k.Axis, len(k.x.v)
	for _, g := range []guarded{k.x, k.s, k.dy} {
		toBlocks(a, g)
	}
	room := scratch(t, k.Scratch())
	y, mean, inv := newGuarded(size), newGuarded(a.N), newGuarded(a.N)
	f := cpu.BlockedNormCall{Scratch: room, Norm: cpu.Norm{Y: y.ptr(), Mean: mean.ptr(),
		Inv: inv.ptr(), X: k.x.ptr(),
		Gamma: k.gamma.ptr(), Beta: k.beta.ptr(), MovingMean: k.movingMean.ptr(),
		MovingVar: k.movingVar.ptr()}}
	if k.sum {
		f.Sum = k.s.ptr()
	}
	k.Run(f)
	near(t, "y", fromBlocks(a, y.v), k.y, 2e-5)
	near(t, "mean", mean.v, k.mean, 1e-5)
	near(t, "inv", inv.v, k.inv, 1e-5)
	near(t, "moving mean", k.movingMean.v, k.newMM, 1e-5)
	near(t, "moving var", k.movingVar.v, k.newV, 1e-5)
	dgamma, dbeta := newGuarded(a.N), newGuarded(a.N)
	b := cpu.BlockedNormGradCall{Beta: k.beta.ptr(), Scratch: room,
		NormGrad: cpu.NormGrad{DX: k.x.ptr(), DGamma: dgamma.ptr(),
			DBeta: dbeta.ptr(), DY: k.dy.ptr(), X: k.x.ptr(), Gamma: k.gamma.ptr(),
			Mean: mean.ptr(),
			Inv:  inv.ptr()}}
	if k.sum || k.known {
		b.Y = y.ptr()
	}
	if k.sum {
		b.DSum = k.dy.ptr()
	}
	k.RunGrad(b)
	near(t, "dx", fromBlocks(a, k.x.v), k.dx, 1e-4)
	near(t, "dgamma", dgamma.v, k.dgamma, 1e-4)
	near(t, "dbeta", dbeta.v, k.dbeta, 1e-4)
	if k.sum {
		near(t, "dsum", fromBlocks(a, k.dy.v), k.ds, 0)
	}
	for _, g := range []guarded{y, mean, inv, dgamma, dbeta, k.x, k.s, k.dy, k.movingMean,
		k.movingVar} {
		g.intact(t, "blocked norm")
	}
}
