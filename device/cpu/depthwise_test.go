//go:build cgo

package cpu_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device/cpu"
)

// depthwiseCase draws a convolution of single channels on plain arrays: sizes below, at and above whole vectors, windows that
// lie outside in part or that leave columns of the input out.
func depthwiseCase(r *rand.Rand) cpu.ConvSpec {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	channels := pick(2, 3, 5, 8, 16, 17)
	s := cpu.ConvSpec{Batch: 1 + r.IntN(3), InChannels: channels, OutChannels: channels * (1 + r.IntN(3)),
		Groups: channels, Dilate: []int{1, 1}, Bias: r.IntN(2) == 0}
	for range 2 {
		kernel := 1 + r.IntN(3)
		s.In = append(s.In, pick(3, 4, 7, 8, 15, 16, 17, 31, 33, 50))
		s.Kernel = append(s.Kernel, kernel)
		s.Stride = append(s.Stride, 1+r.IntN(2))
		s.Pad = append(s.Pad, r.IntN(kernel+1))
	}
	s = complete(s)
	s.Threads = 1 + r.IntN(3)
	return s
}

// TestDepthwiseConvolutions compares values and gradients with sums over windows.
func TestDepthwiseConvolutions(t *testing.T) {
	r := rng(t)
	for range 60 {
		compareConv(t, r, depthwiseCase(r))
		if t.Failed() {
			return
		}
	}
}

// TestPlainDepthwiseConvolutionsAreOurs: with plain arrays no layout changes, with blocks oneDNN computes.
func TestPlainDepthwiseConvolutionsAreOurs(t *testing.T) {
	s := complete(cpu.ConvSpec{Batch: 2, InChannels: 32, OutChannels: 32, Groups: 32, In: []int{14, 14}, Kernel: []int{3, 3},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 1}})
	forward, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	pixels := s // our gradients are those of single pixels
	pixels.Kernel, pixels.Pad = []int{1, 1}, []int{0, 0}
	gradients, err := cpu.NewConvGrad(complete(pixels), true, true)
	if err != nil {
		t.Fatal(err)
	}
	if forward.Impls() == nil {
		t.Skip("this binary has no library")
	}
	ours := "gomx:depthwise"
	if got := forward.Impls(); !slices.Equal(got, []string{ours}) {
		t.Errorf("forward runs %v, want %v alone", got, ours)
	}
	if got := gradients.Impls(); !slices.Equal(got, []string{ours, ours}) {
		t.Errorf("gradients run %v, want %v for weights and data", got, ours)
	}
	s.X, s.DY, s.AnyY, s.AnyDX = cpu.LayoutBlock16, cpu.LayoutBlock16, true, true
	if forward, err = cpu.NewConv(s); err != nil {
		t.Fatal(err)
	}
	if gradients, err = cpu.NewConvGrad(s, true, true); err != nil {
		t.Fatal(err)
	}
	for _, got := range [][]string{forward.Impls(), gradients.Impls()} {
		if slices.Contains(got, ours) {
			t.Errorf("blocked arrays run %v", got)
		}
	}
}

// TestDepthwiseWeightsSeeTheirWindowsOnly: an infinite number that no window of a tap meets does not come into its gradient.
func TestDepthwiseWeightsSeeTheirWindowsOnly(t *testing.T) {
	s := complete(cpu.ConvSpec{Batch: 1, InChannels: 2, OutChannels: 2, Groups: 2, In: []int{8, 9}, Kernel: []int{1, 2}, Stride: []int{1, 2},
		Dilate: []int{1, 1}, Pad: []int{0, 0}})
	d := newConvData(rng(t), s)
	for i := 8; i < len(d.x.v); i += 9 {
		d.x.v[i] = float32(math.Inf(1)) // windows are (0,1) to (6,7)
	}
	for i, v := range depthwiseResults(t, s, d)[2].v {
		if v != v || math.IsInf(float64(v), 0) {
			t.Errorf("gradient of weight %d is %v", i, v)
		}
	}
}

// TestDepthwiseRepeats: results of our kernels are the same bits for any number of threads. Gradients of windows above one
// pixel are oneDNN's, which promises that for one number of threads only.
func TestDepthwiseRepeats(t *testing.T) {
	r := rng(t)
	for range 20 {
		s := depthwiseCase(r)
		s.Bias = true
		d := newConvData(r, s)
		var first []guarded
		for s.Threads = 1; s.Threads <= 3; s.Threads++ {
			got := depthwiseResults(t, s, d)
			if first == nil {
				first = got
			}
			for i := range got {
				if i > 0 && s.Kernel[0]*s.Kernel[1] > 1 {
					break
				}
				if !slices.Equal(got[i].v, first[i].v) {
					t.Errorf("%s: result %d of %d threads differs from that of one", describe(s), i, s.Threads)
				}
			}
		}
	}
}

// depthwiseResults returns y, dx, dw and dbias.
func depthwiseResults(t *testing.T, s cpu.ConvSpec, d convData) []guarded {
	t.Helper()
	out := []guarded{newGuarded(len(d.dy.v)), newGuarded(len(d.x.v)), newGuarded(len(d.w.v)), newGuarded(len(d.b.v))}
	k, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(out[0].ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(), scratch(t, k.Scratch())); err != nil {
		t.Fatal(err)
	}
	g, err := cpu.NewConvGrad(s, true, true)
	if err != nil {
		t.Fatal(err)
	}
	o := cpu.ConvGrads{DX: out[1].ptr(), DW: out[2].ptr(), DBias: out[3].ptr(), DY: d.dy.ptr(), X: d.x.ptr(), W: d.w.ptr()}
	if err := g.Run(o, scratch(t, g.Scratch())); err != nil {
		t.Fatal(err)
	}
	return out
}
