//go:build cgo

package cpu_test

import (
	"fmt"
	"testing"

	"gomx/device/cpu"
	"gomx/dtype"
)

// inLayout returns where an element of a plain array of shape (n, c, h, w) lies in a layout.
func inLayout(l cpu.Layout, shape []int, i int) int {
	h := shape[2] * shape[3]
	n, c, p := i/(shape[1]*h), i/h%shape[1], i%h
	block := map[cpu.Layout]int{cpu.LayoutPlain: 1, cpu.LayoutLast: shape[1], cpu.LayoutBlock8: 8,
		cpu.LayoutBlock16: 16}[l]
	return ((n*shape[1]/block+c/block)*h+p)*block + c%block
}

// arrange copies a plain array to a layout.
func arrange(l cpu.Layout, shape []int, x guarded) guarded {
	y := newGuarded(len(x.v))
	for i, v := range x.v {
		y.v[inLayout(l, shape, i)] = v
	}
	return y
}

func TestReorder(t *testing.T) {
	r := rng(t)
	shape := []int{2, 32, 3, 5}
	x := random(r, volume(shape))
	all := []cpu.Layout{cpu.LayoutPlain, cpu.LayoutLast, cpu.LayoutBlock8, cpu.LayoutBlock16}
	for _, from := range all {
		for _, to := range all {
			k, err := cpu.NewReorder(dtype.Float32, shape, from, to, 1)
			if err != nil {
				t.Fatal(err)
			}
			y, want := newGuarded(len(x.v)), arrange(to, shape, x)
			if err := k.Run(y.ptr(), arrange(from, shape, x).ptr(),
				scratch(t, k.Scratch())); err != nil {
				t.Fatal(err)
			}
			for i := range y.v {
				if y.v[i] != want.v[i] {
					t.Fatalf("%v to %v: got %v at %d, want %v", from, to, y.v[i], i, want.v[i])
				}
			}
			y.intact(t, fmt.Sprintf("%v to %v", from, to))
		}
	}
}

func TestLayoutFitsAndSeen(t *testing.T) {
	for _, c := range []struct {
		l     cpu.Layout
		shape []int
		fits  bool
		seen  string
	}{
		{cpu.LayoutPlain, []int{2, 3, 4, 5}, true, "[2 3 4 5]"},
		{cpu.LayoutLast, []int{2, 3, 4, 5}, true, "[40 3]"},
		{cpu.LayoutBlock8, []int{2, 24, 4, 5}, true, "[2 3 160]"},
		{cpu.LayoutBlock16, []int{2, 32, 4, 5}, true, "[2 2 320]"},
		{cpu.LayoutBlock16, []int{2, 24, 4, 5}, false, ""},
		{cpu.LayoutLast, []int{2, 24}, false, ""},
	} {
		if got := c.l.Fits(c.shape); got != c.fits {
			t.Errorf("layout %d fits %v: %v, want %v", c.l, c.shape, got, c.fits)
		}
		if c.fits && fmt.Sprint(c.l.Seen(c.shape)) != c.seen {
			t.Errorf("layout %d of %v is seen as %v, want %s", c.l, c.shape, c.l.Seen(c.shape),
				c.seen)
		}
	}
}

// TestFusedConv compares convolutions that add, rectify and choose layouts with the same steps one
// by one.
func TestFusedConv(t *testing.T) {
	r := rng(t)
	for _, in := range []cpu.Layout{cpu.LayoutPlain, cpu.LayoutLast, cpu.LayoutBlock16} {
		for _, winograd := range []bool{false, true} {
			if winograd && !cpu.HasBlocks() {
				continue
			}
			s := cpu.ConvSpec{Batch: 2, InChannels: 32, OutChannels: 48, Groups: 1, In: []int{7, 9},
				Out: []int{7, 9}, Kernel: []int{3, 3},
				Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 1}, Bias: true, Threads: 2}
			xs, ys := []int{2, 32, 7, 9}, []int{2, 48, 7, 9}
			x, w, b, sum := random(r, volume(xs)), random(r, 48*32*9), random(r, 48),
				random(r, volume(ys))
			want := fusedByHand(t, s, x, w, b, sum)
			s.Add, s.ReLU, s.X, s.AnyY, s.Packed, s.Winograd = true, true, in, true, true, winograd
			k, err := cpu.NewConv(s)
			if err != nil {
				t.Fatal(err)
			}
			s.Sum = k.Y
			if k, err = cpu.NewConv(s); err != nil {
				t.Fatal(err)
			}
			pack, err := k.Packing(1)
			if err != nil {
				t.Fatal(err)
			}
			packed := newGuarded(pack.Bytes / 4)
			if err := pack.Run(packed.ptr(), w.ptr(), scratch(t, pack.Scratch())); err != nil {
				t.Fatal(err)
			}
			y := arrange(k.Y, ys, sum) // in place
			if err := k.RunAdd(y.ptr(), arrange(in, xs, x).ptr(), packed.ptr(), b.ptr(), y.ptr(),
				scratch(t, k.Scratch())); err != nil {
				t.Fatal(err)
			}
			got := make([]float32, len(want))
			for i := range got {
				got[i] = y.v[inLayout(k.Y, ys, i)]
			}
			near(t, fmt.Sprintf("layout %d, winograd %v", in, winograd), got, want, 1e-4)
			y.intact(t, "output")
			packed.intact(t, "weights")
		}
	}
}

// TestBlockedConvGrad compares gradients of arrays in blocks with those of plain arrays.
func TestBlockedConvGrad(t *testing.T) {
	if !cpu.HasBlocks() {
		t.Skip("the processor has no fast kernels for blocks")
	}
	r := rng(t)
	xs, ys, ws := []int{2, 32, 7, 9}, []int{2, 48, 7, 9}, []int{48, 32, 3, 3}
	s := cpu.ConvSpec{Batch: 2, InChannels: 32, OutChannels: 48, Groups: 1, In: xs[2:], Out: ys[2:],
		Kernel: ws[2:],
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 1}, Bias: true, Train: true,
		Threads: 2}
	x, w, dy := random(r, volume(xs)), random(r, volume(ws)), random(r, volume(ys))
	dx, dw, db := gradients(t, s, x, w, dy)
	for _, v := range []cpu.ConvSpec{{X: cpu.LayoutBlock16}, {DY: cpu.LayoutBlock16},
		{X: cpu.LayoutBlock16, DY: cpu.LayoutBlock16},
		{X: cpu.LayoutBlock16, DY: cpu.LayoutBlock16, Winograd: true}, {DY: cpu.LayoutBlock16,
			Winograd: true, DirectDW: true}} {
		b := s
		b.X, b.DY, b.Winograd, b.DirectDW, b.AnyDX, b.Blocked = v.X, v.DY, v.Winograd, v.DirectDW,
			true, true
		gx, gw, gb := gradients(t, b, arrange(b.X, xs, x), w, arrange(b.DY, ys, dy))
		what := fmt.Sprintf("x %d, dy %d, winograd %v %v: ", b.X, b.DY, b.Winograd, b.DirectDW)
		plain := make([]float32, len(gx))
		for i := range plain {
			plain[i] = gx[inLayout(cpu.LayoutBlock16, xs, i)]
		}
		near(t, what+"data", plain, widened(dx), 2e-4)
		near(t, what+"weight", gw, widened(dw), 2e-4)
		near(t, what+"bias", gb, widened(db), 2e-4)
	}
}

// gradients runs the gradient of a convolution, which gives data's in blocks if it may.
func gradients(t *testing.T, s cpu.ConvSpec, x, w, dy guarded) (dx, dw, db []float32) {
	t.Helper()
	k, err := cpu.NewConvGrad(s, true, true)
	if err != nil {
		t.Fatal(err)
	}
	if s.AnyDX && k.DX != cpu.LayoutBlock16 {
		t.Errorf("gradient of data in layout %d, want blocks", k.DX)
	}
	gx, gw, gb := newGuarded(len(x.v)), newGuarded(len(w.v)), newGuarded(s.OutChannels)
	err = k.Run(cpu.ConvGrads{DX: gx.ptr(), DW: gw.ptr(), DBias: gb.ptr(), DY: dy.ptr(), X: x.ptr(),
		W: w.ptr()}, scratch(t, k.Scratch()))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []guarded{gx, gw, gb} {
		g.intact(t, "gradient")
	}
	return gx.v, gw.v, gb.v
}

func widened(list []float32) []float64 {
	wide := make([]float64, len(list))
	for i, v := range list {
		wide[i] = float64(v)
	}
	return wide
}

func fusedByHand(t *testing.T, s cpu.ConvSpec, x, w, b, sum guarded) []float64 {
	t.Helper()
	want := make([]float64, len(sum.v))
	pixels := s.Out[0] * s.Out[1]
	for i, v := range sum.v {
		want[i] = float64(v) + float64(b.v[i/pixels%s.OutChannels])
	}
	eachTap(s, func(y, xi, wi int) { want[y] += float64(x.v[xi]) * float64(w.v[wi]) })
	for i, v := range want {
		want[i] = max(v, 0)
	}
	return want
}

func TestPoolProgramAgreesWithPool(t *testing.T) {
	r := rng(t)
	for _, typ := range []cpu.PoolType{cpu.PoolMax, cpu.PoolAvg} {
		for _, l := range []cpu.Layout{cpu.LayoutLast, cpu.LayoutBlock16} {
			for _, keep := range []bool{true, false} {
				s := cpu.PoolSpec{Type: typ, Planes: 2 * 16, In: []int{7, 8}, Out: []int{4, 4},
					Kernel: []int{3, 3}, Stride: []int{2, 2},
					Pad: []int{1, 1}, Threads: 1}
				xs, ys := []int{2, 16, 7, 8}, []int{2, 16, 4, 4}
				x, want, got := random(r, volume(xs)), newGuarded(volume(ys)),
					newGuarded(volume(ys))
				cpu.NewPool(s).Run(want.ptr(), x.ptr())
				k, err := cpu.NewPoolProgram(s, 16, l, keep)
				if err != nil {
					t.Fatal(err)
				}
				if err := k.Run(got.ptr(), arrange(l, xs, x).ptr(),
					scratch(t, k.Scratch())); err != nil {
					t.Fatal(err)
				}
				out := cpu.LayoutPlain
				if keep {
					out = l
				}
				wide := make([]float64, len(want.v))
				for i, v := range arrange(out, ys, want).v {
					wide[i] = float64(v)
				}
				near(t, fmt.Sprintf("type %d, layout %d, keep %v", typ, l, keep), got.v, wide, 1e-5)
				got.intact(t, "output")
			}
		}
	}
}
