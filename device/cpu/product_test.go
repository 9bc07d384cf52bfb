//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/device/cpu"
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
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {33, 10, 65}, {64, 500, 80},
		{5, 1, 9}, {1, 9, 100}, {0, 3, 2}, {3, 0, 2}, {3, 4, 0},
		{13, 33, 17}, {20, 97, 650}, {14, 40, 3100}, {97, 31, 400}, {131, 70, 129}, {25, 300, 16}} {
		for v := range 8 {
			g := cpu.Gemm{M: s[0], N: s[1], K: s[2], TransA: v&1 != 0, TransB: v&2 != 0, Alpha: 1.5,
				Threads: 2}
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
			near(t, fmt.Sprint(g), c.v, want, roundings(g.K))
			c.intact(t, fmt.Sprint(g))
		}
	}
}

// TestGemmPacked compares products of packed operands with products of plain operands, for small
// and large numbers of rows.
func TestGemmPacked(t *testing.T) {
	if !cpu.CanPack() {
		t.Skip("this processor computes with plain operands only")
	}
	r := rng(t)
	for _, s := range [][3]int{{1, 1, 1}, {2, 32, 5}, {12, 33, 17}, {20, 97, 650}, {40, 40, 3100},
		{100, 31, 400}, {3, 64, 0}} {
		for v := range 8 {
			g := cpu.Gemm{M: s[0], N: s[1], K: s[2], TransA: v&1 != 0, TransB: v&2 != 0, Alpha: 1.5,
				Threads: 1 + v%3}
			if v&4 != 0 {
				g.Beta = 0.5
			}
			a, b, c, bias := random(r, g.M*g.K), random(r, g.K*g.N), random(r, g.M*g.N),
				random(r, g.N)
			want := product(g, c.v, a.v, b.v)
			for i := range want {
				want[i] += float64(bias.v[i%g.N])
			}
			packed := scratch(t, g.Packed())
			g.Pack(packed, b.ptr())
			g.RunPacked(c.ptr(), a.ptr(), packed, bias.ptr())
			near(t, fmt.Sprint("packed ", g), c.v, want, roundings(g.K))
			c.intact(t, fmt.Sprint("packed ", g))
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
			near(t, fmt.Sprint("batch ", i), c.v[i*30:i*30+30], product(g, nil, a.v[i*35:i*35+35],
				b.v[i*42:i*42+42]), 2e-5)
		}
		c.intact(t, "batch")
	}
	for _, rows := range []int{9, 31} {
		checkDense(t, cpu.Dense{Rows: rows, In: 20, Out: 11, Threads: 2})
	}
}

func checkDense(t *testing.T, d cpu.Dense) {
	t.Helper()
	r := rng(t)
	x, w, bias, y := random(r, d.Rows*20), random(r, 220), random(r, 11), newGuarded(d.Rows*11)
	if err := d.Run(y.ptr(), x.ptr(), w.ptr(), bias.ptr()); err != nil {
		t.Fatal(err)
	}
	want := product(cpu.Gemm{M: d.Rows, N: 11, K: 20, TransB: true, Alpha: 1}, nil, x.v, w.v)
	for i := range want {
		want[i] += float64(bias.v[i%11])
	}
	near(t, "dense", y.v, want, 2e-5)
}

// roundings is the error allowed in sums of k products of numbers around one.
func roundings(k int) float64 { return 1e-5 * math.Sqrt(float64(k)+4) }
