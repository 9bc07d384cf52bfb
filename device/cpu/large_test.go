//go:build cgo

package cpu_test

import (
	"testing"

	"gomx/device/cpu"
	"gomx/dtype"
)

// ramp is n numbers that differ from their neighbours, small enough for any type.
func ramp(n int) guarded {
	g := newGuarded(n)
	for i := range g.v {
		g.v[i] = float32(i % 1021)
	}
	return g
}

// TestLarge checks outputs that are written past the caches: aligned ones and others.
func TestLarge(t *testing.T) {
	const rows, cols = 2112, 2032
	x := ramp(rows * cols)
	aligned := scratch(t, 4*rows*cols)
	turn, _ := cpu.NewView(dtype.Shape{cols, rows}, []int{1, cols}, 0, 4, 2)
	check := func(what string, d guarded, want func(i int) float32) {
		t.Helper()
		for i, v := range d.v {
			if v != want(i) {
				t.Fatalf("%s: element %d is %v, want %v", what, i, v, want(i))
			}
		}
		d.intact(t, what)
	}
	turned := func(i int) float32 { return x.v[i%rows*cols+i/rows] }
	d := newGuarded(rows * cols)
	turn.Gather(d.ptr(), x.ptr())
	check("transposed", d, turned)
	turn.Gather(aligned, x.ptr())
	cpu.Rows{Count: rows, Bytes: 4 * cols, DPitch: 4 * cols, SPitch: 4 * cols,
		Threads: 2}.Copy(d.ptr(), aligned)
	check("transposed to aligned memory", d, turned)

	index := newGuarded(rows)
	for i := range index.v {
		index.v[i] = float32((i * 7) % rows)
	}
	lookup, _ := cpu.Lookup{N: rows, Rows: rows, Width: cols, Outer: 1, Threads: 2}.Indexed(
		dtype.Float32, dtype.Float32)
	lookup.Run(d.ptr(), x.ptr(), index.ptr(), scratch(t, lookup.Scratch()))
	check("looked up", d, func(i int) float32 { return x.v[(i/cols*7)%rows*cols+i%cols] })

	wide, _ := cpu.NewCast(dtype.Float64, dtype.Float32, 2)
	narrow, _ := cpu.NewCast(dtype.Float32, dtype.Float64, 2)
	double := scratch(t, 8*rows*cols)
	wide.Run(double, x.ptr(), rows*cols)
	narrow.Run(d.ptr(), double, rows*cols)
	check("converted", d, func(i int) float32 { return x.v[i] })
}
