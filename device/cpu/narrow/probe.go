//go:build cgo

package narrow

import (
	"math"
	"time"
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
)

// trial is one pair of kernels that compute the same, one in float32 and one in bfloat16. A kernel
// that the library lacks is nil.
type trial struct{ wide, narrow func() error }

// rounds is the number of alternations of a trial, of which the best times count.
const rounds = 9

// instructions names the instructions for bfloat16 that kernels use.
func instructions() string { return cpu.Instructions() }

// probe measures every class. It takes about half a second.
func probe() map[device.Product]float64 {
	speed := map[device.Product]float64{}
	for p, list := range trials(device.Cores()) {
		sum := 0.0
		for _, t := range list {
			sum += math.Log(t.ratio())
		}
		speed[p] = math.Exp(sum / float64(len(list)))
	}
	return speed
}

// ratio returns the time in float32 divided by the time in bfloat16, 0.5 where there is no kernel.
func (t trial) ratio() float64 {
	const none = 0.5
	if t.wide == nil || t.narrow == nil {
		return none
	}
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for range rounds {
		for i, f := range []func() error{t.wide, t.narrow} {
			start := time.Now()
			if f() != nil {
				return none
			}
			best[i] = min(best[i], time.Since(start))
		}
	}
	return float64(best[0]) / float64(max(best[1], 1))
}

// trials lists the pairs of kernels of every class, with sizes of ResNet, MobileNet and BERT.
func trials(threads int) map[device.Product][]trial {
	conv := func(groups, channels, side, kernel int) []trial {
		return convTrials(cpu.ConvSpec{Batch: 4, InChannels: channels, OutChannels: channels,
			Groups: groups, In: []int{side, side}, Out: []int{side, side},
			Kernel: []int{kernel, kernel}, Stride: []int{1, 1}, Dilate: []int{1, 1},
			Pad: []int{kernel / 2, kernel / 2}, Threads: threads})
	}
	dense := func(m, n, k int) trial {
		return productTrial(cpu.Gemm{M: m, N: n, K: k, TransB: true, Alpha: 1, Threads: threads}, 1)
	}
	return map[device.Product][]trial{
		device.Convolutions: append(conv(1, 128, 28, 3), conv(1, 256, 14, 1)...),
		device.Depthwise:    converted(conv(256, 256, 28, 3), 4*256*28*28, threads),
		device.DenseProducts: {dense(64, 768, 768), dense(256, 768, 768), dense(64, 3072, 768),
			dense(64, 768, 3072)},
		device.FewRowProducts: {dense(1, 1024, 1024), dense(4, 768, 768), dense(8, 768, 768)},
		device.BatchProducts: {
			productTrial(cpu.Gemm{M: 128, N: 128, K: 64, TransB: true, Alpha: 1,
				Threads: threads}, 12),
			productTrial(cpu.Gemm{M: 128, N: 64, K: 128, Alpha: 1, Threads: threads}, 12)},
	}
}

// room is aligned memory for n elements with small numbers that bfloat16 has too.
func room(n int, t dtype.Type) unsafe.Pointer {
	words := make([]uint16, n*t.Size()/2+64)
	for i := range words {
		words[i] = 0x3f00 + uint16(i*37%64)
	}
	p := unsafe.Pointer(unsafe.SliceData(words))
	return unsafe.Add(p, (64-uintptr(p)%64)%64)
}

func productTrial(g cpu.Gemm, count int) (t trial) {
	arrays := func(typ dtype.Type) (c, a, b unsafe.Pointer) {
		return room(count*g.M*g.N, typ), room(count*g.M*g.K, typ), room(count*g.K*g.N, typ)
	}
	k, err := cpu.NewMatmul(g.Narrow(count, dtype.BFloat16))
	if err != nil {
		return trial{}
	}
	scratch := room(k.Scratch(), dtype.Int8)
	c, a, b := arrays(dtype.BFloat16)
	t.narrow = func() error { return k.Run(c, a, b, nil, scratch) }
	x, y, z := arrays(dtype.Float32)
	t.wide = func() error { return g.RunBatch(x, y, z, count) }
	return t
}

// converted adds the conversions of data and result to the float32 sides of convolutions: between
// products in bfloat16, data come as bfloat16. The backward part converts two arrays and one back.
func converted(list []trial, n, threads int) []trial {
	from, _ := cpu.NewCast(dtype.Float32, dtype.BFloat16, threads)
	to, _ := cpu.NewCast(dtype.BFloat16, dtype.Float32, threads)
	wide, narrow := room(n, dtype.Float32), room(n, dtype.BFloat16)
	for i, t := range list {
		if t.wide == nil {
			continue
		}
		list[i].wide = func() error {
			for range i + 1 {
				from.Run(wide, narrow, n)
			}
			to.Run(narrow, wide, n)
			return t.wide()
		}
	}
	return list
}

// convTrials are the convolution and its gradients.
func convTrials(s cpu.ConvSpec) []trial {
	wide, wideGrad := convKernels(s, dtype.Float32)
	narrow, narrowGrad := convKernels(s, dtype.BFloat16)
	return []trial{{wide, narrow}, {wideGrad, narrowGrad}}
}

// convKernels prepares a convolution and its gradients for operands in blocks of channels, where
// the processor has kernels for these.
func convKernels(s cpu.ConvSpec, t dtype.Type) (forward, backward func() error) {
	s.DType, s.AnyY, s.AnyDX, s.Blocked = t, true, true, cpu.HasBlocks()
	if s.Blocked {
		s.X, s.DY = cpu.LayoutBlock16, cpu.LayoutBlock16
	}
	size := dtype.Shape(s.In).Size() * s.InChannels * s.Batch
	weights := s.OutChannels * s.InChannels / s.Groups * dtype.Shape(s.Kernel).Size()
	x, y, w, v := room(size, t), room(size, t), room(weights*2, t), room(weights, t)
	try := func(winograd bool) (ok bool) {
		s.Winograd = winograd
		if k, err := cpu.NewConv(s); err == nil {
			scratch := room(k.Scratch(), dtype.Int8)
			forward, ok = func() error { return k.Run(y, x, w, nil, scratch) }, true
		}
		return ok
	}
	if t != dtype.Float32 || s.Groups > 1 || !try(true) {
		try(false)
	}
	s.Winograd, s.Train = s.Winograd && forward != nil, true
	k, err := cpu.NewConvGrad(s, true, true)
	if err != nil && s.Winograd {
		s.Winograd = false
		k, err = cpu.NewConvGrad(s, true, true)
	}
	if err != nil {
		return forward, nil
	}
	scratch := room(k.Scratch(), dtype.Int8)
	return forward, func() error {
		return k.Run(cpu.ConvGrads{DX: x, DW: v, DY: y, X: x, W: w}, scratch)
	}
}
