//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/device/cpu"
)

var poolCases = []cpu.PoolSpec{
	{In: []int{8, 8}, Kernel: []int{2, 2}, Stride: []int{2, 2}, Pad: []int{0, 0}},
	{In: []int{9, 7}, Kernel: []int{2, 2}, Stride: []int{2, 2}, Pad: []int{0, 0}},
	{In: []int{24, 66}, Kernel: []int{2, 2}, Stride: []int{2, 2}, Pad: []int{0, 0}},
	{In: []int{9, 7}, Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1}},
	{In: []int{9, 40}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Pad: []int{1, 1}},
	{In: []int{9, 7}, Kernel: []int{3, 2}, Stride: []int{3, 1}, Pad: []int{2, 0}},
	{In: []int{5, 5}, Kernel: []int{5, 5}, Stride: []int{1, 1}, Pad: []int{0, 0}},
	{In: []int{1100}, Kernel: []int{4}, Stride: []int{2}, Pad: []int{3}},
	{In: []int{4, 5, 6}, Kernel: []int{2, 3, 2}, Stride: []int{2, 1, 2}, Pad: []int{1, 1, 0}},
}

// eachWindow visits every window: its number, the elements inside, and how many elements an average
// counts.
func eachWindow(s cpu.PoolSpec, f func(o int, in []int, count int)) {
	in, out, k := three(s.In, 1), three(s.Out, 1), three(s.Kernel, 1)
	st, pad := three(s.Stride, 1), three(s.Pad, 0)
	for c := range s.Planes {
		for o := range volume(out) {
			oi := []int{o / out[2] / out[1], o / out[2] % out[1], o % out[2]}
			var list []int
			count := 0
			for w := range volume(k) {
				wi := []int{w / k[2] / k[1], w / k[2] % k[1], w % k[2]}
				at, inside, padded := 0, true, true
				for a := range 3 {
					p := oi[a]*st[a] - pad[a] + wi[a]
					inside = inside && p >= 0 && p < in[a]
					padded = padded && p < in[a]+pad[a]
					at = at*in[a] + p
				}
				if inside {
					list = append(list, c*volume(in)+at)
				}
				if inside || padded && s.IncludePad {
					count++
				}
			}
			f(c*volume(out)+o, list, count)
		}
	}
}

func TestPool(t *testing.T) {
	r := rng(t)
	for _, c := range poolCases {
		for _, full := range []bool{false, true} {
			for _, v := range []cpu.PoolSpec{{Type: cpu.PoolMax}, {Type: cpu.PoolAvg},
				{Type: cpu.PoolAvg, IncludePad: true}, {Type: cpu.PoolSum},
				{Type: cpu.PoolLp, P: 1}, {Type: cpu.PoolLp, P: 2}, {Type: cpu.PoolLp, P: 3}} {
				s := c
				s.Type, s.IncludePad, s.P, s.Planes, s.Threads, s.Out = v.Type, v.IncludePad, v.P,
					6, 2, nil
				for i, n := range s.In {
					extra := 0
					if full {
						extra = s.Stride[i] - 1
					}
					s.Out = append(s.Out, (n+2*s.Pad[i]-s.Kernel[i]+extra)/s.Stride[i]+1)
				}
				x := random(r, s.Planes*volume(s.In))
				for i := range x.v {
					x.v[i] = float32(math.Round(float64(x.v[i]*4))) / 4 // some equal ones
					if s.Type == cpu.PoolLp {
						x.v[i] = float32(math.Abs(float64(x.v[i]))) + 0.25
					}
				}
				checkPool(t, s, x, random(r, s.Planes*volume(s.Out)))
			}
		}
	}
}

func checkPool(t *testing.T, s cpu.PoolSpec, x, dy guarded) {
	t.Helper()
	y, dx := make([]float64, len(dy.v)), make([]float64, len(x.v))
	eachWindow(s, func(o int, in []int, count int) {
		best := -1
		for _, i := range in {
			v := float64(x.v[i])
			switch s.Type {
			case cpu.PoolMax:
				if best < 0 || x.v[i] > x.v[best] {
					best = i
				}
			case cpu.PoolLp:
				y[o] += math.Pow(v, float64(s.P))
			case cpu.PoolAvg:
				y[o] += v / float64(count)
			default:
				y[o] += v
			}
		}
		if s.Type == cpu.PoolLp {
			y[o] = math.Pow(y[o], 1/float64(s.P))
		}
		if s.Type == cpu.PoolMax {
			if y[o] = -math.MaxFloat32; best >= 0 {
				y[o] = float64(x.v[best])
				dx[best] += float64(dy.v[o])
			}
			return
		}
		for _, i := range in {
			slope := 1.0
			switch s.Type {
			case cpu.PoolAvg:
				slope = 1 / float64(count)
			case cpu.PoolLp:
				slope = math.Pow(float64(x.v[i])/y[o], float64(s.P)-1)
			}
			dx[i] += slope * float64(dy.v[o])
		}
	})
	k, gy, gx := cpu.NewPool(s), newGuarded(len(y)), newGuarded(len(dx))
	k.Run(gy.ptr(), x.ptr())
	near(t, fmt.Sprint("y of ", s), gy.v, y, 1e-5)
	gy.intact(t, fmt.Sprint(s))
	k.RunGrad(gx.ptr(), dy.ptr(), x.ptr(), gy.ptr())
	near(t, fmt.Sprint("dx of ", s), gx.v, dx, 1e-5)
	gx.intact(t, fmt.Sprint(s))
}

// TestBlockedPoolGrad compares gradients of arrays in blocks of 16 channels with gradients of plain
// arrays.
func TestBlockedPoolGrad(t *testing.T) {
	r := rng(t)
	for _, typ := range []cpu.PoolType{cpu.PoolMax, cpu.PoolAvg, cpu.PoolSum} {
		for _, pad := range []int{0, 1} {
			s := cpu.PoolSpec{Type: typ, Planes: 2 * 32, In: []int{6, 8}, Out: []int{3, 4},
				Kernel: []int{3, 3}, Stride: []int{2, 2},
				Pad: []int{pad, pad}, IncludePad: pad > 0, Threads: 2}
			xs, ys := []int{2, 32, 6, 8}, []int{2, 32, 3, 4}
			x, dy, y := random(r, volume(xs)), random(r, volume(ys)), newGuarded(volume(ys))
			for i, v := range x.v {
				x.v[i] = float32(math.Round(float64(v))) // some equal ones
			}
			k := cpu.NewPool(s)
			k.Run(y.ptr(), x.ptr())
			plain, got := newGuarded(volume(xs)), newGuarded(volume(xs))
			k.RunGrad(plain.ptr(), dy.ptr(), x.ptr(), y.ptr())
			s.Planes /= 16
			l := cpu.LayoutBlock16
			cpu.NewPool(s).RunBlockedGrad(got.ptr(), arrange(l, ys, dy).ptr(),
				arrange(l, xs, x).ptr(), arrange(l, ys, y).ptr())
			want := make([]float64, len(got.v))
			for i, v := range arrange(l, xs, plain).v {
				want[i] = float64(v)
			}
			near(t, fmt.Sprintf("type %d, pad %d", typ, pad), got.v, want, 1e-6)
			got.intact(t, "gradient")
		}
	}
}

func TestMaxPoolPassesOverNaN(t *testing.T) {
	nan := float32(math.NaN())
	for _, stride := range []int{1, 2} {
		x := guarded{v: []float32{nan, 1, nan, nan, 2, 3, nan, nan}}
		n := (4-2)/stride + 1
		k := cpu.NewPool(cpu.PoolSpec{Planes: 1, In: []int{2, 4}, Out: []int{1, n},
			Kernel: []int{2, 2}, Stride: []int{2, stride}, Pad: []int{0, 0}})
		y := newGuarded(n)
		k.Run(y.ptr(), x.ptr())
		if y.v[0] != 3 || y.v[n-1] != -math.MaxFloat32 {
			t.Errorf("stride %d: %v, want 3 first and the lowest number last", stride, y.v)
		}
	}
}
