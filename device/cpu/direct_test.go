//go:build cgo

package cpu_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// ours is the name of the kernels for plain arrays.
const ours = "gomx:direct"

// directCase draws a convolution of plain arrays: sizes below, at and above whole vectors, windows
// that lie outside in part or that leave columns of the input out.
func directCase(r *rand.Rand) cpu.ConvSpec {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	s := cpu.ConvSpec{Batch: 1 + r.IntN(3), Groups: pick(1, 1, 2, 3), Bias: r.IntN(2) == 0}
	// depthwise
	if s.InChannels, s.OutChannels = s.Groups*pick(1, 2, 5, 8), s.Groups*pick(1, 2, 3, 7,
		13); r.IntN(3) == 0 {
		s.Groups = pick(2, 5, 16, 17)
		s.InChannels, s.OutChannels = s.Groups, s.Groups*(1+r.IntN(3))
	}
	for range 2 {
		kernel, dilate := pick(1, 1, 2, 3, 3, 5), pick(1, 1, 1, 2)
		s.In = append(s.In, pick(3, 4, 7, 8, 15, 16, 17, 31, 33, 50))
		s.Kernel, s.Dilate = append(s.Kernel, kernel), append(s.Dilate, dilate)
		s.Stride = append(s.Stride, pick(1, 1, 2, 2, 3))
		s.Pad = append(s.Pad, pick(kernel/2, r.IntN(kernel+1)))
	}
	for i, n := range s.In {
		s.In[i] = max(n, (s.Kernel[i]-1)*s.Dilate[i]+1)
	}
	s = complete(s)
	s.Threads = 1 + r.IntN(3)
	return s
}

// TestDirectConvolutions compares values and gradients with sums over windows. Most of these sizes
// are computed by our kernels.
func TestDirectConvolutions(t *testing.T) {
	r, taken := rng(t), 0
	const cases = 80
	for range cases {
		s := directCase(r)
		compareConv(t, r, s)
		compareFused(t, r, s)
		if t.Failed() {
			return
		}
		k, err := cpu.NewConvGrad(s, true, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range k.Impls() {
			if name == ours {
				taken++
			}
		}
	}
	if cpu.HasBlocks() && taken < cases/2 {
		t.Errorf("our kernels take %d of %d gradients", taken, 2*cases)
	}
}

// TestDirectConvolutionsInParts: sheets that do not stay in a cache are made of strips of rows and
// of some channels at a time.
func TestDirectConvolutionsInParts(t *testing.T) {
	r := rng(t)
	for _, stride := range []int{1, 2} {
		s := complete(cpu.ConvSpec{Batch: 1, InChannels: 300, OutChannels: 3, Groups: 1,
			In: []int{31, 30}, Kernel: []int{3, 3},
			Stride: []int{stride, stride}, Dilate: []int{1, 1}, Pad: []int{1, 1}, Bias: true})
		compareConv(t, r, s)
		compareFused(t, r, s)
		s.InChannels, s.OutChannels = s.OutChannels, s.InChannels
		compareConv(t, r, s)
	}
}

// TestDirectConvolutionsOfWideWindows: windows of many columns, as of spectra, whose taps may all lie
// outside for some of the outputs.
func TestDirectConvolutionsOfWideWindows(t *testing.T) {
	r := rng(t)
	for _, width := range []int{7, 24, 70} {
		for _, kernel := range [][]int{{1, 11}, {3, 39}, {64, 3}} {
			for _, stride := range []int{1, 2, 3} {
				s := complete(cpu.ConvSpec{Batch: 2, InChannels: 4, OutChannels: 8, Groups: 1,
					In: []int{9, width}, Kernel: kernel, Stride: []int{1, stride},
					Dilate: []int{1, 1}, Pad: []int{kernel[0] / 2, kernel[1] / 2}, Bias: true})
				compareConv(t, r, s)
				compareFused(t, r, s)
			}
		}
	}
	s := complete(cpu.ConvSpec{Batch: 1, InChannels: 8, OutChannels: 8, Groups: 1,
		In: []int{20, 264}, Kernel: []int{3, 39}, Stride: []int{1, 1}, Dilate: []int{1, 1},
		Pad: []int{1, 19}, AnyY: true, Packed: true})
	s.Train = false
	k, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Impls(); len(got) > 0 && !cpu.HasBlocks() && !slices.Contains(got, ours) {
		t.Errorf("%s: runs %v", describe(s), got)
	}
}

// compareFused runs a convolution that adds an array, which may be the output, and cuts off what is
// negative.
func compareFused(t *testing.T, r *rand.Rand, s cpu.ConvSpec) {
	t.Helper()
	s.Train, s.Add, s.ReLU = false, true, true
	d := newConvData(r, s)
	want := make([]float64, len(d.dy.v))
	for i := range want {
		if want[i] = float64(d.dy.v[i]); s.Bias {
			want[i] += float64(d.b.v[i/volume(s.Out)%s.OutChannels])
		}
	}
	eachTap(s, func(y, x, w int) { want[y] += float64(d.x.v[x]) * float64(d.w.v[w]) })
	for i := range want {
		want[i] = max(want[i], 0)
	}
	k, err := cpu.NewConv(s)
	if err != nil {
		t.Fatalf("%s: %v", describe(s), err)
	}
	work, same := scratch(t, k.Scratch()), d.dy.clone()
	for _, y := range []guarded{newGuarded(len(want)), same} {
		sum := d.dy
		if unsafe.SliceData(y.v) == unsafe.SliceData(same.v) {
			sum = same
		}
		if err := k.RunAdd(y.ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(), sum.ptr(), work); err != nil {
			t.Fatal(err)
		}
		near(t, describe(s)+": sum", y.v, want, 2e-4)
		y.intact(t, "sum")
	}
}

// TestPlainConvolutionsAreOurs: with plain arrays no layout changes where that would take longer
// than the sums; with blocks oneDNN computes.
func TestPlainConvolutionsAreOurs(t *testing.T) {
	if !cpu.HasBlocks() {
		t.Skip("estimates are made for vectors of sixteen numbers")
	}
	one, three := []int{1, 1}, []int{3, 3}
	for _, s := range []cpu.ConvSpec{
		{Batch: 2, InChannels: 32, OutChannels: 32, Groups: 32, In: []int{16, 16}, Kernel: one,
			Stride: one, Pad: []int{0, 0}},
		{Batch: 2, InChannels: 16, OutChannels: 12, Groups: 4, In: []int{16, 16}, Kernel: one,
			Stride: one, Pad: []int{0, 0}},
		{Batch: 2, InChannels: 16, OutChannels: 12, Groups: 4, In: []int{16, 16}, Kernel: three,
			Stride: one, Pad: one},
		{Batch: 2, InChannels: 3, OutChannels: 21, Groups: 1, In: []int{56, 56}, Kernel: three,
			Stride: one, Pad: one},
	} {
		s.Dilate = one
		s = complete(s)
		if got := implsOf(t, s); !slices.Equal(got, []string{ours, ours, ours}) {
			t.Errorf("%s: runs %v, want %s for output, weights and data", describe(s), got, ours)
		}
	}
	s := complete(cpu.ConvSpec{Batch: 16, InChannels: 64, OutChannels: 64, Groups: 4,
		In: []int{16, 16}, Kernel: three,
		Stride: []int{2, 2}, Dilate: one, Pad: one})
	if got := implsOf(t, s); got[0] == ours {
		t.Errorf("%s: groups of whole blocks run %v", describe(s), got)
	}
	s = complete(cpu.ConvSpec{Batch: 2, InChannels: 32, OutChannels: 32, Groups: 32,
		In: []int{14, 14}, Kernel: three, Stride: one,
		Dilate: one, Pad: one, X: cpu.LayoutBlock16, DY: cpu.LayoutBlock16, AnyY: true,
		AnyDX: true})
	if got := implsOf(t, s); slices.Contains(got, ours) {
		t.Errorf("%s: runs %v", describe(s), got)
	}
}

// implsOf names what runs for the output and for both gradients.
func implsOf(t *testing.T, s cpu.ConvSpec) []string {
	t.Helper()
	forward, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	gradients, err := cpu.NewConvGrad(s, true, true)
	if err != nil {
		t.Fatal(err)
	}
	return append(forward.Impls(), gradients.Impls()...)
}

// TestDirectConvolutionsReadTheirWindowsOnly: numbers outside of all windows, which are infinite,
// come into no result.
func TestDirectConvolutionsReadTheirWindowsOnly(t *testing.T) {
	s := complete(cpu.ConvSpec{Batch: 1, InChannels: 2, OutChannels: 2, Groups: 2, In: []int{8, 9},
		Kernel: []int{1, 2}, Stride: []int{1, 2},
		Dilate: []int{1, 1}, Pad: []int{0, 0}})
	d := newConvData(rng(t), s)
	for i := 8; i < len(d.x.v); i += 9 {
		d.x.v[i] = float32(math.Inf(1)) // windows are (0,1) to (6,7)
	}
	for n, g := range directResults(t, s, d) {
		for i, v := range g.v {
			if n < 3 && (v != v || math.IsInf(float64(v), 0)) {
				t.Errorf("element %d of result %d is %v", i, n, v)
			}
		}
	}
}

// TestDirectConvolutionsRepeat: results of our kernels are the same bits for any number of threads;
// oneDNN promises that for one number of threads only.
func TestDirectConvolutionsRepeat(t *testing.T) {
	r := rng(t)
	for range 60 {
		s := directCase(r)
		s.Bias, s.Threads = true, 1
		if got := implsOf(t, s); !slices.Equal(got, []string{ours, ours, ours}) {
			continue
		}
		d := newConvData(r, s)
		first := directResults(t, s, d)
		for s.Threads = 2; s.Threads <= 3; s.Threads++ {
			for i, got := range directResults(t, s, d) {
				if !slices.Equal(got.v, first[i].v) {
					t.Errorf("%s: result %d of %d threads differs from that of one", describe(s), i,
						s.Threads)
				}
			}
		}
	}
}

// TestStrideOfTwoCopiesWholePlanes: rows that are copied in the order of memory overwrite none of
// the copies of other taps, with windows whose taps share numbers in different ways.
func TestStrideOfTwoCopiesWholePlanes(t *testing.T) {
	r := rng(t)
	for _, width := range []int{33, 37, 56, 64, 97} {
		for _, kernel := range []int{2, 3, 5, 7} {
			for _, pad := range []int{0, kernel / 2, kernel - 1} {
				s := complete(cpu.ConvSpec{Batch: 2, InChannels: 4, OutChannels: 8, Groups: 2,
					In: []int{9, width}, Kernel: []int{kernel, kernel}, Stride: []int{2, 2},
					Dilate: []int{1, 1}, Pad: []int{pad, pad}, Bias: true})
				compareConv(t, r, s)
			}
		}
	}
}

// directResults returns y, dx, dw and dbias.
func directResults(t *testing.T, s cpu.ConvSpec, d convData) []guarded {
	t.Helper()
	out := []guarded{newGuarded(len(d.dy.v)), newGuarded(len(d.x.v)), newGuarded(len(d.w.v)),
		newGuarded(len(d.b.v))}
	k, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(out[0].ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(),
		scratch(t, k.Scratch())); err != nil {
		t.Fatal(err)
	}
	g, err := cpu.NewConvGrad(s, true, true)
	if err != nil {
		t.Fatal(err)
	}
	o := cpu.ConvGrads{DX: out[1].ptr(), DW: out[2].ptr(), DBias: out[3].ptr(), DY: d.dy.ptr(),
		X: d.x.ptr(), W: d.w.ptr()}
	if err := g.Run(o, scratch(t, g.Scratch())); err != nil {
		t.Fatal(err)
	}
	return out
}
