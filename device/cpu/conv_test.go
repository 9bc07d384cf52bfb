//go:build cgo

package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gomx/device/cpu"
)

var convCases = []cpu.ConvSpec{
	{Batch: 2, InChannels: 3, OutChannels: 5, Groups: 1, In: []int{9, 8}, Kernel: []int{3, 3},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 1}, Bias: true},
	{Batch: 3, InChannels: 1, OutChannels: 20, Groups: 1, In: []int{12, 12}, Kernel: []int{5, 5},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{0, 0}, Bias: true},
	{Batch: 2, InChannels: 20, OutChannels: 50, Groups: 1, In: []int{12, 12}, Kernel: []int{5, 5},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{0, 0}, Bias: true},
	{Batch: 2, InChannels: 16, OutChannels: 32, Groups: 1, In: []int{7, 7}, Kernel: []int{3, 3},
		Stride: []int{2, 2}, Dilate: []int{1, 1}, Pad: []int{1, 1}},
	{Batch: 2, InChannels: 8, OutChannels: 12, Groups: 4, In: []int{6, 7}, Kernel: []int{3, 2},
		Stride: []int{1, 2}, Dilate: []int{2, 1}, Pad: []int{2, 0}, Bias: true},
	{Batch: 2, InChannels: 6, OutChannels: 6, Groups: 6, In: []int{8, 8}, Kernel: []int{3, 3},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 1}},
	{Batch: 2, InChannels: 4, OutChannels: 3, Groups: 1, In: []int{11}, Kernel: []int{4},
		Stride: []int{3}, Dilate: []int{2}, Pad: []int{2}, Bias: true},
	{Batch: 2, InChannels: 6, OutChannels: 4, Groups: 2, In: []int{21}, Kernel: []int{3},
		Stride: []int{2}, Dilate: []int{1}, Pad: []int{1}, Bias: true},
	{Batch: 1, InChannels: 2, OutChannels: 4, Groups: 2, In: []int{4, 5, 6}, Kernel: []int{2, 3, 3},
		Stride: []int{1, 1, 2}, Dilate: []int{1, 1, 1}, Pad: []int{0, 1, 1}, Bias: true},
	{Batch: 1, InChannels: 10, OutChannels: 4, Groups: 1, In: []int{5, 5}, Kernel: []int{1, 1},
		Stride: []int{2, 2}, Dilate: []int{1, 1}, Pad: []int{0, 0}},
	{Batch: 1, InChannels: 3, OutChannels: 4, Groups: 1, In: []int{8, 8}, Kernel: []int{3, 3},
		Stride: []int{3, 3}, Dilate: []int{1, 1}, Pad: []int{0, 0}, Bias: true},
}

// complete fills in the output's extents.
func complete(s cpu.ConvSpec) cpu.ConvSpec {
	s.Train, s.Threads, s.Out = true, 2, nil
	for i, n := range s.In {
		s.Out = append(s.Out, (n+2*s.Pad[i]-s.Dilate[i]*(s.Kernel[i]-1)-1)/s.Stride[i]+1)
	}
	return s
}

func volume(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// three pads extents to three axes.
func three(s []int, v int) []int {
	return append(slices.Repeat([]int{v}, 3-len(s)), s...)
}

// eachTap visits every product of a convolution by the indices of y, x and w.
func eachTap(s cpu.ConvSpec, f func(y, x, w int)) {
	in, out, k := three(s.In, 1), three(s.Out, 1), three(s.Kernel, 1)
	st, di, pad := three(s.Stride, 1), three(s.Dilate, 1), three(s.Pad, 0)
	icg, ocg := s.InChannels/s.Groups, s.OutChannels/s.Groups
	vi, vo, vk := volume(in), volume(out), volume(k)
	for b := range s.Batch {
		for oc := range s.OutChannels {
			for ic := range icg {
				c := oc/ocg*icg + ic
				for o := range vo {
					for t := range vk {
						oi := []int{o / out[2] / out[1], o / out[2] % out[1], o % out[2]}
						ti := []int{t / k[2] / k[1], t / k[2] % k[1], t % k[2]}
						at, ok := 0, true
						for a := range 3 {
							p := oi[a]*st[a] - pad[a] + ti[a]*di[a]
							ok = ok && p >= 0 && p < in[a]
							at = at*in[a] + p
						}
						if ok {
							f((b*s.OutChannels+oc)*vo+o, (b*s.InChannels+c)*vi+at, (oc*icg+ic)*vk+t)
						}
					}
				}
			}
		}
	}
}

type convData struct{ x, w, b, dy guarded }

func newConvData(r *rand.Rand, s cpu.ConvSpec) convData {
	return convData{random(r, s.Batch*s.InChannels*volume(s.In)),
		random(r, s.OutChannels*s.InChannels/s.Groups*volume(s.Kernel)),
		random(r, s.OutChannels), random(r, s.Batch*s.OutChannels*volume(s.Out))}
}

func TestConv(t *testing.T) {
	r := rng(t)
	for i, c := range convCases {
		s := complete(c)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			d := newConvData(r, s)
			k, err := cpu.NewConv(s)
			if err != nil {
				t.Fatal(err)
			}
			y := newGuarded(len(d.dy.v))
			if err := k.Run(y.ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(),
				scratch(t, k.Scratch())); err != nil {
				t.Fatal(err)
			}
			want := make([]float64, len(y.v))
			if vo := volume(s.Out); s.Bias {
				for i := range want {
					want[i] = float64(d.b.v[i/vo%s.OutChannels])
				}
			}
			eachTap(s, func(y, x, w int) { want[y] += float64(d.x.v[x]) * float64(d.w.v[w]) })
			near(t, "y", y.v, want, 1e-4)
			y.intact(t, "y")
		})
	}
}

func TestConvGrad(t *testing.T) {
	r := rng(t)
	for i, c := range convCases {
		s := complete(c)
		d := newConvData(r, s)
		dx, dw, db := make([]float64, len(d.x.v)), make([]float64, len(d.w.v)),
			make([]float64, s.OutChannels)
		eachTap(s, func(y, x, w int) {
			dx[x] += float64(d.dy.v[y]) * float64(d.w.v[w])
			dw[w] += float64(d.dy.v[y]) * float64(d.x.v[x])
		})
		for i, g := range d.dy.v {
			db[i/volume(s.Out)%s.OutChannels] += float64(g)
		}
		for _, want := range [][2]bool{{true, true}, {true, false}, {false, true}} {
			t.Run(fmt.Sprint(i, want), func(t *testing.T) {
				k, err := cpu.NewConvGrad(s, want[0], want[1])
				if err != nil {
					t.Fatal(err)
				}
				gx, gw, gb := newGuarded(len(dx)), newGuarded(len(dw)), newGuarded(len(db))
				err = k.Run(cpu.ConvGrads{DX: gx.ptr(), DW: gw.ptr(), DBias: gb.ptr(),
					DY: d.dy.ptr(), X: d.x.ptr(), W: d.w.ptr()}, scratch(t, k.Scratch()))
				if err != nil {
					t.Fatal(err)
				}
				if want[0] {
					near(t, "dx", gx.v, dx, 1e-4)
				}
				if want[1] {
					near(t, "dw", gw.v, dw, 1e-4)
				}
				if want[1] && s.Bias {
					near(t, "db", gb.v, db, 1e-4)
				}
				gx.intact(t, "dx")
				gw.intact(t, "dw")
				gb.intact(t, "db")
			})
		}
	}
}

func TestConvRunsConcurrentlyAndRepeats(t *testing.T) {
	s := complete(convCases[2])
	s.Threads = 1
	d := newConvData(rng(t), s)
	k, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	outs := make([]guarded, 8)
	var wg sync.WaitGroup
	for i := range outs {
		outs[i] = newGuarded(len(d.dy.v))
		work := scratch(t, k.Scratch())
		wg.Go(func() {
			for range 5 {
				if err := k.Run(outs[i].ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(), work); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range outs {
		if !slices.Equal(outs[i].v, outs[0].v) {
			t.Errorf("run %d differs from run 0", i)
		}
	}
}

func TestConvRunAllocatesNothing(t *testing.T) {
	s := complete(convCases[2])
	d := newConvData(rng(t), s)
	k, err := cpu.NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	y, work := newGuarded(len(d.dy.v)), scratch(t, k.Scratch())
	n := testing.AllocsPerRun(20, func() { k.Run(y.ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(), work) })
	if n != 0 {
		t.Errorf("%v allocations per run, want 0", n)
	}
}

// lenet are the two convolutions of LeNet at batch 64.
func lenet() map[string]cpu.ConvSpec {
	conv := func(ic, oc, n int) cpu.ConvSpec {
		return complete(cpu.ConvSpec{Batch: 64, InChannels: ic, OutChannels: oc, Groups: 1,
			In: []int{n, n}, Kernel: []int{5, 5},
			Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{0, 0}, Bias: true})
	}
	return map[string]cpu.ConvSpec{"conv1": conv(1, 20, 28), "conv2": conv(20, 50, 12)}
}

func BenchmarkConv(b *testing.B) {
	for name, s := range lenet() {
		d := newConvData(rand.New(rand.NewPCG(1, 1)), s)
		y := newGuarded(len(d.dy.v))
		dx, dw, db := newGuarded(len(d.x.v)), newGuarded(len(d.w.v)), newGuarded(len(d.b.v))
		b.Run(name+"/forward", func(b *testing.B) {
			runtime.LockOSThread() // the threads of a kernel belong to the thread that calls it
			k, _ := cpu.NewConv(s)
			work := scratch(b, k.Scratch())
			b.ReportAllocs()
			for b.Loop() {
				k.Run(y.ptr(), d.x.ptr(), d.w.ptr(), d.b.ptr(), work)
			}
		})
		for _, wantX := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/backward dx=%v", name, wantX), func(b *testing.B) {
				runtime.LockOSThread()
				k, _ := cpu.NewConvGrad(s, wantX, true)
				work := scratch(b, k.Scratch())
				o := cpu.ConvGrads{DX: dx.ptr(), DW: dw.ptr(), DBias: db.ptr(), DY: d.dy.ptr(),
					X: d.x.ptr(), W: d.w.ptr()}
				b.ReportAllocs()
				for b.Loop() {
					k.Run(o, work)
				}
			})
		}
	}
}
