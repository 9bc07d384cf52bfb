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

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func pyMod(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x - y*math.Floor(x/y)
}

// maps pairs every function of one element with its definition; s and t are 0.75 and 1.25.
var maps = map[cpu.MapOp]func(x, s, t float64) float64{
	cpu.Copy:   func(x, s, t float64) float64 { return x },
	cpu.Neg:    func(x, s, t float64) float64 { return -x },
	cpu.Abs:    func(x, s, t float64) float64 { return math.Abs(x) },
	cpu.Sign:   func(x, s, t float64) float64 { return b2f(x > 0) - b2f(x < 0) },
	cpu.Square: func(x, s, t float64) float64 { return x * x },
	cpu.Sqrt:   func(x, s, t float64) float64 { return math.Sqrt(x) },
	cpu.Rsqrt:  func(x, s, t float64) float64 { return 1 / math.Sqrt(x) },
	cpu.Cbrt:   func(x, s, t float64) float64 { return math.Cbrt(x) },
	cpu.Rcbrt:  func(x, s, t float64) float64 { return 1 / math.Cbrt(x) }, cpu.Reciprocal: func(x,
		s, t float64) float64 {
		return 1 / x
	},
	cpu.Exp:   func(x, s, t float64) float64 { return math.Exp(x) },
	cpu.Expm1: func(x, s, t float64) float64 { return math.Expm1(x) },
	cpu.Log:   func(x, s, t float64) float64 { return math.Log(x) },
	cpu.Log1p: func(x, s, t float64) float64 { return math.Log1p(x) },
	cpu.Log2:  func(x, s, t float64) float64 { return math.Log2(x) },
	cpu.Log10: func(x, s, t float64) float64 { return math.Log10(x) },
	cpu.Floor: func(x, s, t float64) float64 { return math.Floor(x) },
	cpu.Ceil:  func(x, s, t float64) float64 { return math.Ceil(x) },
	cpu.Trunc: func(x, s, t float64) float64 { return math.Trunc(x) },
	cpu.Rint:  func(x, s, t float64) float64 { return math.Ceil(x - 0.5) },
	cpu.Round: func(x, s, t float64) float64 { return math.Round(x) },
	cpu.ReLU: func(x, s, t float64) float64 {
		if x < 0 {
			return 0
		}
		return x
	},
	cpu.Sigmoid: func(x, s, t float64) float64 { return 1 / (1 + math.Exp(-x)) },
	cpu.Tanh:    func(x, s, t float64) float64 { return math.Tanh(x) },
	cpu.Softplus: func(x, s, t float64) float64 {
		return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	},
	cpu.Softsign: func(x, s, t float64) float64 { return x / (1 + math.Abs(x)) },
	cpu.Erf:      func(x, s, t float64) float64 { return math.Erf(x) },
	cpu.GELU:     func(x, s, t float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) },
	cpu.Leaky: func(x, s, t float64) float64 {
		if x > 0 {
			return x
		}
		return s * x
	},
	cpu.ELU: func(x, s, t float64) float64 {
		if x > 0 {
			return x
		}
		return s * math.Expm1(x)
	},
	cpu.ScaledELU: func(x, s, t float64) float64 {
		if x > 0 {
			return t * x
		}
		return t * s * math.Expm1(x)
	},
	cpu.Clip:   func(x, s, t float64) float64 { return math.Max(s, math.Min(t, x)) },
	cpu.AddS:   func(x, s, t float64) float64 { return x + s },
	cpu.MulS:   func(x, s, t float64) float64 { return x * s },
	cpu.RSubS:  func(x, s, t float64) float64 { return s - x },
	cpu.DivS:   func(x, s, t float64) float64 { return x / s },
	cpu.RDivS:  func(x, s, t float64) float64 { return s / x },
	cpu.MaxS:   func(x, s, t float64) float64 { return math.Max(x, s) },
	cpu.MinS:   func(x, s, t float64) float64 { return math.Min(x, s) },
	cpu.PowS:   func(x, s, t float64) float64 { return math.Pow(x, s) },
	cpu.RPowS:  func(x, s, t float64) float64 { return math.Pow(s, x) },
	cpu.ModS:   func(x, s, t float64) float64 { return pyMod(x, s) },
	cpu.RModS:  func(x, s, t float64) float64 { return pyMod(s, x) },
	cpu.HypotS: func(x, s, t float64) float64 { return math.Hypot(x, s) },
	cpu.EqS:    func(x, s, t float64) float64 { return b2f(x == s) },
	cpu.NeS:    func(x, s, t float64) float64 { return b2f(x != s) },
	cpu.GtS:    func(x, s, t float64) float64 { return b2f(x > s) },
	cpu.GeS:    func(x, s, t float64) float64 { return b2f(x >= s) },
	cpu.LtS:    func(x, s, t float64) float64 { return b2f(x < s) },
	cpu.LeS:    func(x, s, t float64) float64 { return b2f(x <= s) },
	cpu.Not:    func(x, s, t float64) float64 { return b2f(x == 0) },
	cpu.Sin:    func(x, s, t float64) float64 { return math.Sin(x) },
	cpu.Cos:    func(x, s, t float64) float64 { return math.Cos(x) },
	cpu.Tan:    func(x, s, t float64) float64 { return math.Tan(x) },
	cpu.Asin:   func(x, s, t float64) float64 { return math.Asin(x) },
	cpu.Acos:   func(x, s, t float64) float64 { return math.Acos(x) },
	cpu.Atan:   func(x, s, t float64) float64 { return math.Atan(x) },
	cpu.Sinh:   func(x, s, t float64) float64 { return math.Sinh(x) },
	cpu.Cosh:   func(x, s, t float64) float64 { return math.Cosh(x) },
	cpu.Asinh:  func(x, s, t float64) float64 { return math.Asinh(x) },
	cpu.Acosh:  func(x, s, t float64) float64 { return math.Acosh(x) },
	cpu.Atanh:  func(x, s, t float64) float64 { return math.Atanh(x) },
}

func TestMap(t *testing.T) {
	r := rng(t)
	for m, f := range maps {
		for _, n := range sizes {
			x := random(r, n)
			k := cpu.Map{Op: m, S: 0.75, T: 1.25, Threads: 2}
			want := make([]float64, n)
			for i, v := range x.v {
				want[i] = f(float64(v), 0.75, 1.25)
			}
			d := newGuarded(n)
			k.Run(d.ptr(), x.ptr(), n)
			near(t, fmt.Sprintf("map %d of %d", m, n), d.v, want, 2e-6)
			d.intact(t, fmt.Sprint("map ", m))
			k.Run(x.ptr(), x.ptr(), n)
			if n > 0 && !slices.Equal(x.v, d.v) && m != cpu.Sqrt && want[0] == want[0] {
				near(t, fmt.Sprintf("map %d in place", m), x.v, want, 2e-6)
			}
		}
	}
}

func TestElementaryFunctions(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	special := []float32{0, float32(math.Copysign(0, -1)), float32(inf), float32(-inf),
		float32(nan), 1e-40, -1e-40, 1e-30, 3e38, -3e38, 88.7, 89.5, -87.4, -103, -110, 9, -9, 0.5,
		-0.5, 1, -1}
	r := rng(t)
	x := newGuarded(20000)
	for i := range x.v {
		x.v[i] = (r.Float32()*2 - 1) * float32(math.Pow(10, r.Float64()*12-8))
	}
	copy(x.v, special)
	for name, m := range map[string]cpu.MapOp{"exp": cpu.Exp, "expm1": cpu.Expm1, "log": cpu.Log,
		"log1p": cpu.Log1p, "tanh": cpu.Tanh,
		"sigmoid": cpu.Sigmoid, "softplus": cpu.Softplus, "erf": cpu.Erf} {
		d := newGuarded(len(x.v))
		cpu.Map{Op: m}.Run(d.ptr(), x.ptr(), len(x.v))
		for i, v := range x.v {
			got, want := float64(d.v[i]), float64(float32(maps[m](float64(v), 0, 0)))
			if got == want || got != got && want != want {
				continue
			}
			// Results below the least normal number may be cut off.
			if math.Abs(got-want) > 1.2e-6*math.Abs(want)+1.2e-38 {
				t.Errorf("%s(%v) = %v, want %v", name, v, got, want)
			}
		}
	}
}

var zips = map[cpu.ZipOp]func(a, b float64) float64{
	cpu.Add: func(a, b float64) float64 { return a + b },
	cpu.Sub: func(a, b float64) float64 { return a - b },
	cpu.Mul: func(a, b float64) float64 { return a * b },
	cpu.Div: func(a, b float64) float64 { return a / b },
	cpu.Max: math.Max, cpu.Min: math.Min, cpu.Pow: math.Pow, cpu.Mod: pyMod, cpu.Hypot: math.Hypot,
	cpu.Eq:  func(a, b float64) float64 { return b2f(a == b) },
	cpu.Ne:  func(a, b float64) float64 { return b2f(a != b) },
	cpu.Gt:  func(a, b float64) float64 { return b2f(a > b) },
	cpu.Ge:  func(a, b float64) float64 { return b2f(a >= b) },
	cpu.Lt:  func(a, b float64) float64 { return b2f(a < b) },
	cpu.Le:  func(a, b float64) float64 { return b2f(a <= b) },
	cpu.And: func(a, b float64) float64 { return b2f(a != 0 && b != 0) },
	cpu.Or:  func(a, b float64) float64 { return b2f(a != 0 || b != 0) },
	cpu.Xor: func(a, b float64) float64 { return b2f((a != 0) != (b != 0)) },
}

func TestZip(t *testing.T) {
	r := rng(t)
	for z, f := range zips {
		for _, n := range sizes {
			a, b, d := random(r, n), random(r, n), newGuarded(n)
			for i := 0; i < n; i += 3 {
				b.v[i] = a.v[i]
			}
			want := make([]float64, n)
			for i := range want {
				want[i] = f(float64(a.v[i]), float64(b.v[i]))
			}
			k := cpu.Zip{Op: z, Threads: 2}
			k.Run(d.ptr(), a.ptr(), b.ptr(), n)
			near(t, fmt.Sprintf("zip %d of %d", z, n), d.v, want, 2e-6)
			d.intact(t, "zip")
			k.Run(b.ptr(), a.ptr(), b.ptr(), n)
			near(t, fmt.Sprintf("zip %d in place", z), b.v, want, 2e-6)
		}
	}
}

// grads pairs gradients with the function of the input they belong to; y tells that the output is
// saved.
var grads = []struct {
	z cpu.ZipOp
	m cpu.MapOp
	y bool
}{
	{cpu.ReLUGrad, cpu.ReLU, true}, {cpu.SigmoidGrad, cpu.Sigmoid, true}, {cpu.TanhGrad, cpu.Tanh,
		true}, {cpu.SoftplusGrad, cpu.Softplus, true},
	{cpu.SoftsignXGrad, cpu.Softsign, false}, {cpu.GELUXGrad, cpu.GELU, false},
	{cpu.LeakyXGrad, cpu.Leaky, false},
	{cpu.ELUGrad, cpu.ELU, true}, {cpu.ELUXGrad, cpu.ELU, false},
}

func TestGradientsAreSlopes(t *testing.T) {
	const s, c, h = 0.75, 1.25, 1e-6
	r := rng(t)
	for _, g := range grads {
		x, dy := random(r, 777), random(r, 777)
		for i := range x.v { // not at kinks
			if v := float64(x.v[i]); math.Abs(v) < 0.01 || math.Abs(v-s) < 0.01 ||
				math.Abs(v-c) < 0.01 || math.Abs(s*v+c-1) < 0.01 || math.Abs(s*v+c) < 0.01 {
				x.v[i] = 1.5
			}
		}
		saved, want := x.clone(), make([]float64, 777)
		f := func(v float64) float64 { return maps[g.m](v, s, c) }
		for i, v := range x.v {
			want[i] = float64(dy.v[i]) * (f(float64(v)+h) - f(float64(v)-h)) / (2 * h)
			if g.y {
				saved.v[i] = float32(f(float64(v)))
			}
		}
		cpu.Zip{Op: g.z, S: s, T: c}.Run(dy.ptr(), dy.ptr(), saved.ptr(), 777)
		near(t, fmt.Sprintf("gradient %d", g.z), dy.v, want, 1e-5)
	}
}

func TestBroadcast(t *testing.T) {
	r := rng(t)
	for _, c := range [][3]dtype.Shape{
		{{4, 5}, {4, 5}, {4, 5}}, {{4, 1}, {4, 5}, {4, 5}}, {{1, 5}, {4, 5}, {4, 5}},
		{{4, 5}, {1, 1}, {4, 5}}, {{1}, {4, 5}, {4, 5}},
		{{5}, {3, 4, 5}, {3, 4, 5}}, {{3, 1, 5}, {1, 4, 1}, {3, 4, 5}}, {{2, 3, 1, 5}, {2, 1, 4, 1},
			{2, 3, 4, 5}}, {{}, {2}, {2}},
		{{1, 3, 1, 1}, {7, 3, 9, 40}, {7, 3, 9, 40}}, {{0, 3}, {1, 3}, {0, 3}},
		{{1, 1}, {1, 1}, {1, 1}}, {{2, 1, 2, 1, 2}, {1, 3, 1, 3, 1}, {2, 3, 2, 3, 2}},
	} {
		a, b, d := random(r, c[0].Size()), random(r, c[1].Size()), newGuarded(c[2].Size())
		k, ok := cpu.NewBroadcast(cpu.Sub, dtype.Float32, c[0], c[1], c[2], 2)
		if !ok {
			t.Fatalf("%v: not supported", c)
		}
		k.Run(d.ptr(), a.ptr(), b.ptr())
		want := make([]float64, len(d.v))
		for i := range want {
			want[i] = float64(a.v[readAt(c[0], c[2], i)]) - float64(b.v[readAt(c[1], c[2], i)])
		}
		near(t, fmt.Sprint(c), d.v, want, 1e-6)
		d.intact(t, fmt.Sprint(c))
	}
	if _, ok := cpu.NewBroadcast(cpu.TanhGrad, dtype.Float32, dtype.Shape{1}, dtype.Shape{2},
		dtype.Shape{2}, 1); ok {
		t.Error("a gradient was accepted for broadcasting")
	}
}

// readAt returns the element of an array of shape s that broadcasts to element i of shape out.
func readAt(s, out dtype.Shape, i int) int {
	at, stride := 0, 1
	for a := len(out) - 1; a >= 0; a-- {
		k := i % out[a]
		i /= out[a]
		if j := a - len(out) + len(s); j >= 0 {
			if s[j] != 1 {
				at += k * stride
			}
			stride *= s[j]
		}
	}
	return at
}

func TestFillSelect(t *testing.T) {
	r := rng(t)
	for _, n := range sizes {
		d, a, b, c := newGuarded(n), random(r, n), random(r, n), newGuarded(n)
		fill, sel := make([]float64, n), make([]float64, n)
		for i := range n {
			fill[i], sel[i] = 3.5, float64(b.v[i])
			if c.v[i] = float32(i % 2); i%2 == 1 {
				sel[i] = float64(a.v[i])
			}
		}
		cpu.Fill(d.ptr(), n, 3.5, 2)
		near(t, "fill", d.v, fill, 0)
		choose, _ := cpu.NewSelect(dtype.Float32, 4, 2)
		choose.Run(d.ptr(), c.ptr(), a.ptr(), b.ptr(), n)
		near(t, "select", d.v, sel, 0)
		d.intact(t, "fill, select")
	}
}

func TestElementwiseAllocatesNothing(t *testing.T) {
	r := rng(t)
	a, b, d := random(r, 100), random(r, 100), newGuarded(100)
	k, _ := cpu.NewBroadcast(cpu.Add, dtype.Float32, dtype.Shape{10, 1}, dtype.Shape{10, 10},
		dtype.Shape{10, 10}, 1)
	n := testing.AllocsPerRun(20, func() {
		cpu.Map{Op: cpu.Exp}.Run(d.ptr(), a.ptr(), 100)
		cpu.Zip{Op: cpu.Mul}.Run(d.ptr(), a.ptr(), b.ptr(), 100)
		k.Run(d.ptr(), a.ptr(), b.ptr())
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
