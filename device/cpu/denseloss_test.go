//go:build cgo

package cpu_test

import (
	"fmt"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// TestDenseLoss compares gradients that are made block by block with gradients that are computed
// from the whole gradient of the scores.
func TestDenseLoss(t *testing.T) {
	r := rng(t)
	for _, s := range []struct {
		rows, in, out int
		loss          cpu.SoftmaxLoss
	}{
		{3, 4, 5, cpu.SoftmaxLoss{Scale: 1, Threads: 2}},
		{33, 17, 70, cpu.SoftmaxLoss{Scale: 0.5, Smooth: 0.1, Threads: 2}},
		{20, 40, 1300, cpu.SoftmaxLoss{Scale: 1, Ignore: 3, UseIgnore: true, Threads: 2}},
		{40, 9, 600, cpu.SoftmaxLoss{Scale: 2, Ignore: 1, Valid: true, Threads: 3}},
	} {
		s.loss.Axis = cpu.Axis3{Outer: s.rows, N: s.out, Inner: 1}
		what := fmt.Sprintf("%+v", s)
		y, x, w, label := random(r, s.rows*s.out), random(r, s.rows*s.in), random(r, s.out*s.in),
			newGuarded(s.rows)
		for i := range label.v {
			label.v[i] = float32(r.IntN(s.out + 1))
		}
		dy := newGuarded(s.rows * s.out)
		s.loss.RunGrad(dy.ptr(), y.ptr(), label.ptr())
		sums := make([]float64, s.out)
		for i, v := range dy.v {
			sums[i%s.out] += float64(v)
		}
		k := cpu.DenseLoss{Loss: s.loss, In: s.in}
		dx, dw, db := newGuarded(len(x.v)), newGuarded(len(w.v)), newGuarded(s.out)
		memory := scratch(t, k.Scratch())
		for _, g := range []cpu.DenseGrads{{Data: dx.ptr(), Weight: dw.ptr(), Bias: db.ptr()},
			{Data: dx.ptr()}, {Weight: dw.ptr()}} {
			if err := k.Run(g, y.ptr(), label.ptr(), x.ptr(), w.ptr(), memory); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "data "+what, dx.v, product(cpu.Gemm{M: s.rows, N: s.in, K: s.out, Alpha: 1}, nil,
			dy.v, w.v), roundings(s.out))
		near(t, "weight "+what, dw.v, product(cpu.Gemm{M: s.out, N: s.in, K: s.rows, TransA: true,
			Alpha: 1}, nil, dy.v, x.v), roundings(s.rows))
		near(t, "bias "+what, db.v, sums, roundings(s.rows))
		for _, g := range []guarded{dx, dw, db} {
			g.intact(t, what)
		}
	}
	if err := (cpu.DenseLoss{Loss: cpu.SoftmaxLoss{Axis: cpu.Axis3{Outer: 1, N: 1, Inner: 1},
		Scale: 1, Threads: 1}, In: 1}).Run(cpu.DenseGrads{},
		ptr([]float32{1}), ptr([]float32{0}), nil, nil,
		unsafe.Pointer(scratch(t, 1<<12))); err != nil {
		t.Error(err)
	}
}
