//go:build cgo

package cpu_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/device/cpu"
)

var allPairs = flag.Bool("allpairs", false,
	"try convolutions of all pairs of channel counts instead of a sample")

// naive reports whether oneDNN calls an implementation its reference, which is a hundred times
// slower than any other.
func naive(impl string) bool { return strings.HasPrefix(impl, "ref") }

// pickCounts are numbers of channels below, at and above whole vectors.
func pickCounts() []int {
	list := []int{63, 64, 65, 66, 255}
	for n := range 40 {
		list = append(list, n+1)
	}
	return list
}

// pickCases are convolutions over small images, with every pair of channel counts, window, stride
// and grouping.
func pickCases() (list []cpu.ConvSpec) {
	add := func(ic, oc, groups int) {
		for _, kernel := range []int{1, 3} {
			for _, stride := range []int{1, 2} {
				list = append(list, complete(cpu.ConvSpec{Batch: 2, InChannels: ic, OutChannels: oc,
					Groups: groups, In: []int{6, 5},
					Kernel: []int{kernel, kernel}, Stride: []int{stride, stride},
					Dilate: []int{1, 1}, Pad: []int{kernel / 2, kernel / 2}, Bias: oc%2 == 1}))
			}
		}
	}
	for _, ic := range pickCounts() {
		for _, oc := range pickCounts() {
			add(ic, oc, 1)
			for _, groups := range []int{2, 4} {
				if ic%groups == 0 && oc%groups == 0 {
					add(ic, oc, groups)
				}
			}
		}
		if ic > 1 {
			add(ic, ic, ic)
			add(ic, 2*ic, ic)
		}
	}
	return list
}

// pickSample is all cases, or as many of them as a short test has time for.
func pickSample(r *rand.Rand, n int) []cpu.ConvSpec {
	list := pickCases()
	if *allPairs {
		return list
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

// layoutsFor are the layouts that an array with a number of channels can come in.
func layoutsFor(channels int) []cpu.Layout {
	return slices.DeleteFunc([]cpu.Layout{cpu.LayoutPlain, cpu.LayoutLast, cpu.LayoutBlock8,
		cpu.LayoutBlock16}, func(l cpu.Layout) bool {
		return !l.Fits([]int{1, channels, 2, 2})
	})
}

func describe(s cpu.ConvSpec) string {
	return fmt.Sprintf("%d to %d channels, groups %d, kernel %v, stride %v, x in layout %d, dy "+
		"in layout %d, train %v",
		s.InChannels, s.OutChannels, s.Groups, s.Kernel, s.Stride, s.X, s.DY, s.Train)
}

func checkImpls(t *testing.T, what string, s cpu.ConvSpec, p *cpu.Program) {
	t.Helper()
	if impls := p.Impls(); slices.ContainsFunc(impls, naive) {
		t.Errorf("%s: %s: runs %v", what, describe(s), impls)
	}
}

// TestConvolutionsAreNotNaive checks that oneDNN's reference kernels run for no layout of the
// operands.
func TestConvolutionsAreNotNaive(t *testing.T) {
	r := rng(t)
	for _, s := range pickSample(r, 150) {
		for _, s.X = range layoutsFor(s.InChannels) {
			for _, mode := range []struct{ train, blocked, add bool }{{}, {blocked: true},
				{add: true}, {train: true}, {train: true, blocked: true}} {
				f := s
				f.Train, f.Blocked, f.Packed, f.AnyY, f.ReLU, f.Add = mode.train, mode.blocked,
					!mode.train, true, true, mode.add
				k, err := cpu.NewConv(f)
				if err != nil {
					t.Fatalf("%s: %v", describe(f), err)
				}
				checkImpls(t, "forward", f, k.Program)
			}
			for _, s.DY = range layoutsFor(s.OutChannels) {
				s.AnyDX = s.X != cpu.LayoutPlain || s.DY != cpu.LayoutPlain
				s.Blocked = s.AnyDX && cpu.HasBlocks()
				k, err := cpu.NewConvGrad(s, true, true)
				if err != nil {
					t.Fatalf("%s: %v", describe(s), err)
				}
				checkImpls(t, "gradient", s, k.Program)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestConvolutionsOfAnyChannels compares values and gradients with sums over windows.
func TestConvolutionsOfAnyChannels(t *testing.T) {
	r := rng(t)
	for _, s := range pickSample(r, 40) {
		if s.InChannels*s.OutChannels/s.Groups > 5000 {
			continue // the sums over windows take long, and 64 and 66 channels are as good as 255
		}
		xl, yl := layoutsFor(s.InChannels), layoutsFor(s.OutChannels)
		s.X, s.DY, s.Threads = xl[r.IntN(len(xl))], yl[r.IntN(len(yl))], 1+r.IntN(2)
		compareConv(t, r, s)
	}
}

// compareConv runs both passes of a convolution of operands in layouts.
func compareConv(t *testing.T, r *rand.Rand, s cpu.ConvSpec) {
	xs, ys := append([]int{s.Batch, s.InChannels}, s.In...), append([]int{s.Batch, s.OutChannels},
		s.Out...)
	d := newConvData(r, s)
	y, dx, dw := make([]float64, len(d.dy.v)), make([]float64, len(d.x.v)),
		make([]float64, len(d.w.v))
	for i := range y {
		if s.Bias {
			y[i] = float64(d.b.v[i/volume(s.Out)%s.OutChannels])
		}
	}
	eachTap(s, func(yi, x, w int) {
		y[yi] += float64(d.x.v[x]) * float64(d.w.v[w])
		dx[x] += float64(d.dy.v[yi]) * float64(d.w.v[w])
		dw[w] += float64(d.dy.v[yi]) * float64(d.x.v[x])
	})
	for _, s.Train = range []bool{false, true} {
		s.AnyY = true
		k, err := cpu.NewConv(s)
		if err != nil {
			t.Fatalf("%s: %v", describe(s), err)
		}
		got := newGuarded(len(y))
		if err := k.Run(got.ptr(), arrange(s.X, xs, d.x).ptr(), d.w.ptr(), d.b.ptr(),
			scratch(t, k.Scratch())); err != nil {
			t.Fatal(err)
		}
		near(t, describe(s)+": y", plainOf(k.Y, ys, got.v), y, 2e-4)
		got.intact(t, "y")
	}
	s.AnyDX = s.X != cpu.LayoutPlain || s.DY != cpu.LayoutPlain
	k, err := cpu.NewConvGrad(s, true, true)
	if err != nil {
		t.Fatalf("%s: %v", describe(s), err)
	}
	gx, gw, gb := newGuarded(len(dx)), newGuarded(len(dw)), newGuarded(s.OutChannels)
	o := cpu.ConvGrads{DX: gx.ptr(), DW: gw.ptr(), DBias: gb.ptr(),
		DY: arrange(s.DY, ys, d.dy).ptr(), X: arrange(s.X, xs, d.x).ptr(), W: d.w.ptr()}
	if err := k.Run(o, scratch(t, k.Scratch())); err != nil {
		t.Fatal(err)
	}
	near(t, describe(s)+": dx", plainOf(k.DX, xs, gx.v), dx, 2e-4)
	near(t, describe(s)+": dw", gw.v, dw, 2e-4)
	for _, g := range []guarded{gx, gw, gb} {
		g.intact(t, "gradient")
	}
}

// plainOf returns the elements of an array in a layout in the order of the plain one.
func plainOf(l cpu.Layout, shape []int, v []float32) []float32 {
	out := make([]float32, len(v))
	for i := range out {
		out[i] = v[inLayout(l, shape, i)]
	}
	return out
}
