//go:build cgo

package cpu_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"gomx/device/cpu"
	"gomx/dtype"
)

// BenchmarkKernels measures kernels on one thread at the sizes of LeNet with batch 64.
func BenchmarkKernels(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := rand.New(rand.NewPCG(1, 1))
	const n = 64 * 20 * 24 * 24
	x, y, d := random(r, n), random(r, n), newGuarded(n)
	planes := cpu.NewPool(cpu.PoolSpec{Planes: 64 * 20, In: []int{24, 24}, Out: []int{12, 12},
		Kernel: []int{2, 2}, Stride: []int{2, 2}, Pad: []int{0, 0}})
	sum := cpu.NewReduce(cpu.Sum, dtype.Shape{64 * 20, 576}, []bool{true, false}, 1, 1)
	turn, _ := cpu.NewView(dtype.Shape{64, 20, 576}, []int{11520, 1, 20}, 0, 4, 1)
	work := scratch(b, sum.Scratch())
	for _, k := range []struct {
		name string
		run  func()
	}{
		{"add", func() { cpu.Zip{Op: cpu.Add}.Run(d.ptr(), x.ptr(), y.ptr(), n) }},
		{"exp", func() { cpu.Map{Op: cpu.Exp}.Run(d.ptr(), x.ptr(), n) }},
		{"tanh", func() { cpu.Map{Op: cpu.Tanh}.Run(d.ptr(), x.ptr(), n) }},
		{"tanh gradient", func() { cpu.Zip{Op: cpu.TanhGrad}.Run(d.ptr(), x.ptr(), y.ptr(), n) }},
		{"max pool", func() { planes.Run(d.ptr(), x.ptr()) }},
		{"max pool gradient", func() { planes.RunGrad(d.ptr(), y.ptr(), x.ptr(), y.ptr()) }},
		{"sum of rows", func() { sum.Run(d.ptr(), x.ptr(), work) }},
		{"transpose", func() { turn.Gather(d.ptr(), x.ptr()) }},
		{"softmax", func() {
			cpu.Softmax{Axis: cpu.Axis3{Outer: n / 576, N: 576, Inner: 1},
				Temperature: 1}.Run(d.ptr(), x.ptr())
		}},
		{"dropout", func() {
			cpu.Dropout{N: n, Keep: 0.5}.Run(d.ptr(), nil, x.ptr(), cpu.Philox{Key: 1})
		}},
		{"dense", func() {
			cpu.Dense{Rows: 64, In: 800, Out: 500, Threads: 1}.Run(d.ptr(), x.ptr(), y.ptr(), nil)
		}},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.SetBytes(4 * n)
			b.ReportAllocs()
			for b.Loop() {
				k.run()
			}
		})
	}
}
