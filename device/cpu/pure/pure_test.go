package pure_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device/cpu/pure"
)

// rng returns a generator whose seed is printed when the test fails.
func rng(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32()*4 - 2
	}
	return v
}

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= 2e-5*(1+math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
}

func ExampleGemm() {
	c := make([]float32, 4)
	pure.Gemm{M: 2, N: 2, K: 2, TransB: true, Alpha: 1}.Run(c, []float32{1, 2, 3, 4},
		[]float32{1, 0, 1, 1})
	fmt.Println(c)
	// Output: [1 3 3 7]
}

func TestGemm(t *testing.T) {
	r := rng(t)
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {70, 65, 80}, {0, 3, 2}, {3, 0, 2},
		{3, 4, 0}} {
		for v := range 8 {
			g := pure.Gemm{M: s[0], N: s[1], K: s[2], TransA: v&1 != 0, TransB: v&2 != 0,
				Alpha: 1.5, Beta: float32(v >> 2)}
			a, b, c := random(r, g.M*g.K), random(r, g.K*g.N), random(r, g.M*g.N)
			want := make([]float64, g.M*g.N)
			for i := range want {
				want[i] = float64(g.Beta) * float64(c[i])
				if g.Beta == 0 {
					c[i] = float32(math.NaN())
				}
				for k := range g.K {
					ai, bi := i/g.N*g.K+k, k*g.N+i%g.N
					if g.TransA {
						ai = k*g.M + i/g.N
					}
					if g.TransB {
						bi = i%g.N*g.K + k
					}
					want[i] += 1.5 * float64(a[ai]) * float64(b[bi])
				}
			}
			if g.K == 0 {
				clear(want)
			}
			g.Run(c, a, b)
			near(t, fmt.Sprint(g), c, want)
		}
	}
}

func TestDense(t *testing.T) {
	r := rng(t)
	x, w, bias := random(r, 6), random(r, 8), random(r, 4)
	for _, b := range [][]float32{nil, bias} {
		y := make([]float32, 12)
		pure.Dense(y, x, w, b, 3)
		want := make([]float64, 12)
		for i := range want {
			if b != nil {
				want[i] = float64(b[i%4])
			}
			for k := range 2 {
				want[i] += float64(x[i/4*2+k]) * float64(w[i%4*2+k])
			}
		}
		near(t, "dense", y, want)
	}
}

var convCases = []pure.ConvSpec{
	{Batch: 3, InChannels: 2, OutChannels: 3, Groups: 1, In: []int{7, 6}, Kernel: []int{3, 2},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 0}},
	{Batch: 2, InChannels: 4, OutChannels: 6, Groups: 2, In: []int{9, 8}, Kernel: []int{3, 3},
		Stride: []int{2, 3}, Dilate: []int{2, 1}, Pad: []int{2, 1}},
	{Batch: 5, InChannels: 3, OutChannels: 3, Groups: 3, In: []int{11}, Kernel: []int{4},
		Stride: []int{2}, Dilate: []int{3}, Pad: []int{4}},
	{Batch: 1, InChannels: 2, OutChannels: 2, Groups: 1, In: []int{3, 4, 5}, Kernel: []int{2, 2, 3},
		Stride: []int{1, 2, 1}, Dilate: []int{1, 1, 1}, Pad: []int{1, 0, 1}},
}

func three(s []int, fill int) []int { return append(slices.Repeat([]int{fill}, 3-len(s)), s...) }

func volume(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// taps visits every product of a convolution by the indices of y, x and w.
func taps(s pure.ConvSpec, f func(y, x, w int)) {
	in, out, k := three(s.In, 1), three(s.Out, 1), three(s.Kernel, 1)
	st, di, pad := three(s.Stride, 1), three(s.Dilate, 1), three(s.Pad, 0)
	icg, ocg := s.InChannels/s.Groups, s.OutChannels/s.Groups
	for y := range s.Batch * s.OutChannels * volume(out) {
		o, oc, b := y%volume(out), y/volume(out)%s.OutChannels, y/volume(out)/s.OutChannels
		for w := range icg * volume(k) {
			at, ok := b*s.InChannels+oc/ocg*icg+w/volume(k), true
			for a, oi, ti := 0, o, w%volume(k); a < 3; a++ {
				p := oi/volume(out[a+1:])*st[a] - pad[a] + ti/volume(k[a+1:])*di[a]
				oi, ti = oi%volume(out[a+1:]), ti%volume(k[a+1:])
				ok = ok && p >= 0 && p < in[a]
				at = at*in[a] + p
			}
			if ok {
				f(y, at, oc*icg*volume(k)+w)
			}
		}
	}
}

func TestConv(t *testing.T) {
	r := rng(t)
	for i, s := range convCases {
		s.Threads = 2
		for a, n := range s.In {
			s.Out = append(s.Out, (n+2*s.Pad[a]-s.Dilate[a]*(s.Kernel[a]-1)-1)/s.Stride[a]+1)
		}
		vo := volume(s.Out)
		x, w := random(r, s.Batch*s.InChannels*volume(s.In)),
			random(r, s.OutChannels*s.InChannels/s.Groups*volume(s.Kernel))
		bias, dy := random(r, s.OutChannels), random(r, s.Batch*s.OutChannels*vo)
		wy, wx, ww, wb := make([]float64, len(dy)), make([]float64, len(x)),
			make([]float64, len(w)), make([]float64, len(bias))
		for j := range wy {
			wy[j] = float64(bias[j/vo%s.OutChannels])
			wb[j/vo%s.OutChannels] += float64(dy[j])
		}
		taps(s, func(y, at, tap int) {
			wy[y] += float64(x[at]) * float64(w[tap])
			wx[at] += float64(dy[y]) * float64(w[tap])
			ww[tap] += float64(dy[y]) * float64(x[at])
		})
		k := pure.NewConv(s)
		y, dx, dw, db := make([]float32, len(dy)), random(r, len(x)), random(r, len(w)),
			random(r, len(bias))
		k.Run(y, x, w, bias, random(r, k.Scratch()))
		near(t, fmt.Sprint("y of ", i), y, wy)
		k.RunGrad(pure.ConvGrads{DX: dx, DW: dw, DBias: db, DY: dy, X: x, W: w},
			random(r, k.ScratchGrad()))
		near(t, fmt.Sprint("dx of ", i), dx, wx)
		near(t, fmt.Sprint("dw of ", i), dw, ww)
		near(t, fmt.Sprint("db of ", i), db, wb)
	}
}

func TestPool(t *testing.T) {
	r := rng(t)
	for _, s := range []pure.PoolSpec{
		{In: []int{9, 7}, Out: []int{4, 3}, Kernel: []int{3, 3}, Stride: []int{2, 2},
			Pad: []int{0, 0}},
		{In: []int{6, 8}, Out: []int{4, 5}, Kernel: []int{3, 2}, Stride: []int{2, 2},
			Pad: []int{1, 1}},
		{In: []int{11}, Out: []int{6}, Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}},
	} {
		for mode := range 4 {
			s.Avg, s.Sum, s.IncludePad = mode == 1 || mode == 2, mode == 3, mode == 2
			s.Planes, s.Threads = 3, 2
			vi, vo := volume(s.In), volume(s.Out)
			x, dy := random(r, 3*vi), random(r, 3*vo)
			wy, wx := make([]float64, 3*vo), make([]float64, 3*vi)
			for o := range wy {
				poolWindow(s, o, x, func(at []int, scale float64) {
					for _, i := range at {
						wy[o] += float64(x[i]) * scale
						wx[i] += float64(dy[o]) * scale
					}
				})
			}
			y, dx := make([]float32, 3*vo), random(r, 3*vi)
			k := pure.NewPool(s)
			k.Run(y, x)
			near(t, fmt.Sprint("y of ", s), y, wy)
			k.RunGrad(dx, dy, x)
			near(t, fmt.Sprint("dx of ", s), dx, wx)
		}
	}
}

// poolWindow calls f with the elements that output o is made of, and their factor.
func poolWindow(s pure.PoolSpec, o int, x []float32, f func(at []int, scale float64)) {
	in, out, k := three(s.In, 1), three(s.Out, 1), three(s.Kernel, 1)
	st, pad := three(s.Stride, 1), three(s.Pad, 0)
	var list []int
	count := 0
	for w := range volume(k) {
		at, inside, counts := o/volume(out), true, true
		for a, oi, ti := 0, o%volume(out), w; a < 3; a++ {
			p := oi/volume(out[a+1:])*st[a] - pad[a] + ti/volume(k[a+1:])
			oi, ti = oi%volume(out[a+1:]), ti%volume(k[a+1:])
			inside, counts = inside && p >= 0 && p < in[a], counts && p < in[a]+pad[a]
			at = at*in[a] + p
		}
		if inside {
			list = append(list, at)
		}
		if inside || counts && s.IncludePad {
			count++
		}
	}
	switch {
	case s.Avg:
		f(list, 1/float64(count))
	case s.Sum:
		f(list, 1)
	default:
		best := slices.MaxFunc(list, func(a, b int) int {
			switch {
			case x[a] < x[b]:
				return -1
			case x[a] > x[b]:
				return 1
			}
			return b - a
		})
		f([]int{best}, 1)
	}
}

func TestUpdates(t *testing.T) {
	r := rng(t)
	u := pure.Update{LR: 0.1, WD: 0.01, Rescale: 0.5, Clip: 0.6, Momentum: 0.9, Beta1: 0.9,
		Beta2: 0.99, E: 1e-8}
	clip := func(g float64) float64 { return math.Max(-0.6, math.Min(0.6, g)) }
	for name, rule := range map[string]struct {
		run  func(out, w, g, a, b []float32)
		step func(w, g, a, b float64) (w2, a2, b2 float64)
	}{
		"sgd": {func(out, w, g, a, b []float32) { u.SGD(out, w, g) },
			func(w, g, a, b float64) (float64, float64, float64) {
				return w*(1-0.001) - 0.1*clip(0.5*g), a, b
			}},
		"momentum": {func(out, w, g, a, b []float32) { u.SGDMomentum(out, w, g, a) },
			func(w, g, a, b float64) (float64, float64, float64) {
				a = 0.9*a - 0.1*(clip(0.5*g)+0.01*w)
				return w + a, a, b
			}},
		"nag": {func(out, w, g, a, b []float32) { u.NAG(out, w, g, a) },
			func(w, g, a, b float64) (float64, float64, float64) {
				d := clip(0.5*g) + 0.01*w
				a = 0.9*a - 0.1*d
				return w + 0.9*a - 0.1*d, a, b
			}},
		"adam": {func(out, w, g, a, b []float32) { u.Adam(out, w, g, a, b) },
			func(w, g, a, b float64) (float64, float64, float64) {
				d := clip(0.5*g + 0.01*w)
				a, b = 0.9*a+0.1*d, 0.99*b+0.01*d*d
				return w - 0.1*a/(math.Sqrt(b)+1e-8), a, b
			}},
	} {
		w, g, a, b := random(r, 50), random(r, 50), random(r, 50), random(r, 50)
		ww, wa, wb := make([]float64, 50), make([]float64, 50), make([]float64, 50)
		for i := range w {
			b[i] *= b[i]
			ww[i], wa[i], wb[i] = rule.step(float64(w[i]), float64(g[i]), float64(a[i]),
				float64(b[i]))
		}
		rule.run(w, w, g, a, b)
		near(t, name+" weight", w, ww)
		near(t, name+" state", a, wa)
		near(t, name+" second state", b, wb)
	}
}

func TestParallelCoversEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		for _, threads := range []int{0, 1, 3, 8} {
			seen := make([]int, n)
			pure.Parallel(threads, n, func(_, begin, end int) {
				for i := begin; i < end; i++ {
					seen[i]++
				}
			})
			if slices.ContainsFunc(seen, func(k int) bool { return k != 1 }) {
				t.Errorf("%d items over %d threads: visits %v, want one each", n, threads, seen)
			}
		}
	}
}
