//go:build cgo

package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"gomx/device/cpu"
	"gomx/dtype"
)

func timed1(name string, f func()) float64 {
	best := time.Hour
	for range 40 {
		t := time.Now()
		f()
		if d := time.Since(t); d < best {
			best = d
		}
	}
	fmt.Printf("%-28s %8.1f us\n", name, float64(best.Nanoseconds())/1e3)
	return float64(best.Nanoseconds()) / 1e3
}

func TestYY(t *testing.T) {
	runtime.LockOSThread()
	r := rand.New(rand.NewPCG(1, 1))
	total := 0.0
	N := 64
	add := func(name string, f func()) { total += timed1(name, f) }
	c1, c2 := lenet()["conv1"], lenet()["conv2"]; c1.Threads, c2.Threads = 1, 1
	d1, d2 := newConvData(r, c1), newConvData(r, c2)
	k1, _ := cpu.NewConv(c1)
	k2, _ := cpu.NewConv(c2)
	g1, _ := cpu.NewConvGrad(c1, false, true)
	g2, _ := cpu.NewConvGrad(c2, true, true)
	work := scratch(t, max(k1.Scratch(), k2.Scratch(), g1.Scratch(), g2.Scratch(), 1<<20))
	fmt.Println("scratch", k1.Scratch(), k2.Scratch(), g1.Scratch(), g2.Scratch())
	y1, y2 := newGuarded(len(d1.dy.v)), newGuarded(len(d2.dy.v))
	dx2, dw1, dw2, db := newGuarded(len(d2.x.v)), newGuarded(len(d1.w.v)), newGuarded(len(d2.w.v)), newGuarded(100)
	add("conv1 fwd", func() { k1.Run(y1.ptr(), d1.x.ptr(), d1.w.ptr(), d1.b.ptr(), work) })
	add("conv2 fwd", func() { k2.Run(y2.ptr(), d2.x.ptr(), d2.w.ptr(), d2.b.ptr(), work) })
	add("conv1 bwd w", func() { g1.Run(cpu.ConvGrads{DW: dw1.ptr(), DBias: db.ptr(), DY: d1.dy.ptr(), X: d1.x.ptr(), W: d1.w.ptr()}, work) })
	add("conv2 bwd", func() {
		g2.Run(cpu.ConvGrads{DX: dx2.ptr(), DW: dw2.ptr(), DBias: db.ptr(), DY: d2.dy.ptr(), X: d2.x.ptr(), W: d2.w.ptr()}, work)
	})
	for _, n := range []int{len(y1.v), len(y2.v), N * 500} {
		th := 1
		if n < 50000 {
			th = 1
		}
		a, b := random(r, n), newGuarded(n)
		add(fmt.Sprint("tanh ", n), func() { cpu.Map{Op: cpu.Tanh, Threads: th}.Run(b.ptr(), a.ptr(), n) })
		add(fmt.Sprint("tanh grad ", n), func() { cpu.Zip{Op: cpu.TanhGrad, Threads: th}.Run(b.ptr(), a.ptr(), b.ptr(), n) })
	}
	for _, p := range [][2]int{{20, 24}, {50, 8}} {
		k := cpu.NewPool(cpu.PoolSpec{Planes: N * p[0], In: []int{p[1], p[1]}, Out: []int{p[1] / 2, p[1] / 2}, Kernel: []int{2, 2}, Stride: []int{2, 2}, Pad: []int{0, 0}, Threads: 1})
		x, y, dx := random(r, N*p[0]*p[1]*p[1]), newGuarded(N*p[0]*p[1]*p[1]/4), newGuarded(N*p[0]*p[1]*p[1])
		add(fmt.Sprint("pool ", p), func() { k.Run(y.ptr(), x.ptr()) })
		add(fmt.Sprint("pool back ", p), func() { k.RunGrad(dx.ptr(), y.ptr(), x.ptr(), y.ptr()) })
	}
	fc := func(rows, in, out int, wantX bool) {
		x, w, b, y := random(r, rows*in), random(r, out*in), random(r, out), newGuarded(rows*out)
		dx, dw := newGuarded(rows*in), newGuarded(out*in)
		add(fmt.Sprint("fc ", rows, in, out), func() { cpu.Dense{Rows: rows, In: in, Out: out, Threads: 1}.Run(y.ptr(), x.ptr(), w.ptr(), b.ptr()) })
		if wantX {
			add("   dx", func() { cpu.Gemm{M: rows, N: in, K: out, Alpha: 1, Threads: 1}.Run(dx.ptr(), y.ptr(), w.ptr()) })
		}
		add("   dw", func() { cpu.Gemm{M: out, N: in, K: rows, TransA: true, Alpha: 1, Threads: 1}.Run(dw.ptr(), y.ptr(), x.ptr()) })
		k := cpu.NewReduce(cpu.Sum, dtype.Shape{rows, out}, []bool{true, false}, 1, 1)
		add("   db", func() { k.Run(db.ptr(), y.ptr(), work) })
		if out > 100 {
			db = newGuarded(out)
		}
		u := cpu.Update{N: in * out, LR: 0.1, Rescale: 1, Clip: -1, Momentum: 0.9, Threads: 1}
		if in*out < 50000 {
			u.Threads = 1
		}
		m := random(r, in*out)
		add("   sgd", func() { u.SGDMomentum(w.ptr(), w.ptr(), dw.ptr(), m.ptr()) })
	}
	db = newGuarded(1000)
	fc(64, 800, 500, true)
	fc(64, 500, 10, true)
	fmt.Printf("LeNet total %.0f us: %.0f images/s\n", total, 64e6/total)
	total = 0
	fc(500, 784, 128, false)
	fc(500, 128, 64, true)
	fc(500, 64, 10, true)
	for _, n := range []int{500 * 128, 500 * 64} {
		a, b := random(r, n), newGuarded(n)
		add("relu", func() { cpu.Map{Op: cpu.ReLU, Threads: 1}.Run(b.ptr(), a.ptr(), n) })
		add("relu grad", func() { cpu.Zip{Op: cpu.ReLUGrad, Threads: 1}.Run(b.ptr(), a.ptr(), b.ptr(), n) })
	}
	fmt.Printf("MLP total %.0f us: %.0f images/s\n", total, 500e6/total)
}
