//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"gomx/device/cpu"
	"gomx/dtype"
)

// integers holds the operands of a layer as plain arrays of numbers.
type integers struct {
	x, w, sum     []int
	scale, offset []float32
}

// reference computes a layer, plain, by the definition: sums of integers, and the steps after them
// in float32.
func reference(s *cpu.Int8Spec, o integers) []float64 {
	axes := len(s.Kernel)
	in, out, kernel := volume(s.In), volume(s.Out), volume(s.Kernel)
	y := make([]float64, s.Batch*s.OutChannels*out)
	for i := range y {
		n, oc, at := i/(s.OutChannels*out), i/out%s.OutChannels, i%out
		acc := 0
		each := s.InChannels / s.Groups
		for g := range each {
			ic := oc/(s.OutChannels/s.Groups)*each + g
			for t := range kernel {
				k, p, pixel, inside := t, at, 0, true
				var coord [3]int
				for a := axes - 1; a >= 0; a-- {
					coord[a] = p%s.Out[a]*s.Stride[a] + k%s.Kernel[a]*s.Dilate[a] - s.Pad[a]
					p, k = p/s.Out[a], k/s.Kernel[a]
				}
				for a := range axes {
					inside = inside && coord[a] >= 0 && coord[a] < s.In[a]
					pixel = pixel*s.In[a] + coord[a]
				}
				if inside {
					acc += o.x[(n*s.InChannels+ic)*in+pixel] * o.w[(oc*each+g)*kernel+t]
				}
			}
		}
		v := float32(float32(acc) * o.scale[oc])
		v += o.offset[oc]
		if s.Sum != dtype.Unknown {
			v = float32(float64(o.sum[i])*float64(s.SumStep) + float64(v))
		}
		if s.ReLU {
			v = max(v, 0)
		}
		y[i] = float64(v)
		if s.Y != dtype.Float32 {
			low, high := -128.0, 127.0
			if s.Y == dtype.Uint8 {
				low, high = 0, 255
			}
			y[i] = min(max(math.RoundToEven(float64(v*s.Scale)), low), high)
		}
	}
	return y
}

// bytesOf stores numbers, plain or with the channels last.
func bytesOf(v []int, batch, channels int, last bool) unsafe.Pointer {
	b := make([]uint8, len(v)+64)
	pixels := len(v) / (batch * channels)
	for i, x := range v {
		k := i
		if n, c, p := i/(channels*pixels), i/pixels%channels, i%pixels; last {
			k = (n*pixels+p)*channels + c
		}
		b[k] = uint8(x)
	}
	return unsafe.Pointer(&b[0])
}

// read returns the numbers that were stored, plain.
func read(p unsafe.Pointer, t dtype.Type, size, batch, channels int, last bool) []float64 {
	v, pixels := make([]float64, size), size/(batch*channels)
	for i := range v {
		k := i
		if n, c, p := i/(channels*pixels), i/pixels%channels, i%pixels; last {
			k = (n*pixels+p)*channels + c
		}
		switch t {
		case dtype.Float32:
			v[i] = float64(unsafe.Slice((*float32)(p), size)[k])
		case dtype.Int8:
			v[i] = float64(unsafe.Slice((*int8)(p), size)[k])
		default:
			v[i] = float64(unsafe.Slice((*uint8)(p), size)[k])
		}
	}
	return v
}

// anyInt8 draws a layer; extreme ones have the operands at which sums of 16 bits saturate.
func anyInt8(rng *rand.Rand) (cpu.Int8Spec, integers) {
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	s := cpu.Int8Spec{Batch: 1 + rng.IntN(3), InChannels: pick(1, 3, 4, 7, 16, 20, 64),
		OutChannels: pick(1, 5, 8, 16, 24, 64), Groups: 1, Sum: dtype.Unknown,
		ReLU:  rng.IntN(2) == 0,
		Scale: float32(20 + 20*rng.Float64()), SumStep: float32(0.01 + 0.02*rng.Float64())}
	bytes := []dtype.Type{dtype.Uint8, dtype.Int8}
	s.X, s.Y = bytes[rng.IntN(2)], append(bytes, dtype.Float32)[rng.IntN(3)]
	if s.Y != dtype.Float32 && rng.IntN(2) == 0 {
		s.Sum = bytes[rng.IntN(2)]
	}
	for range pick(0, 2, 2, 2, 3) {
		k, in := pick(1, 2, 3), 4+rng.IntN(5)
		d, stride, pad := 1+rng.IntN(2), 1+rng.IntN(2), rng.IntN(3)
		pad = min(pad, d*(k-1))
		s.Kernel, s.In, s.Dilate = append(s.Kernel, k), append(s.In, in), append(s.Dilate, d)
		s.Stride, s.Pad = append(s.Stride, stride), append(s.Pad, pad)
		s.Out = append(s.Out, (in+2*pad-d*(k-1)-1)/stride+1)
	}
	if len(s.Kernel) > 0 && rng.IntN(3) == 0 { // depthwise, with one or two outputs each, or pairs
		s.Groups, s.OutChannels = s.InChannels, s.InChannels*pick(1, 1, 2)
		if s.InChannels%2 == 0 && rng.IntN(4) == 0 {
			s.Groups /= 2
		}
	}
	number := func(t dtype.Type) int {
		if rng.IntN(3) == 0 { // an extreme one
			return map[dtype.Type]int{dtype.Uint8: 255, dtype.Int8: 127 - 255*rng.IntN(2)}[t]
		}
		return map[dtype.Type]int{dtype.Int8: -128}[t] + rng.IntN(256)
	}
	o := integers{x: make([]int, s.Batch*s.InChannels*volume(s.In)),
		w:     make([]int, s.OutChannels*s.InChannels/s.Groups*volume(s.Kernel)),
		sum:   make([]int, s.Batch*s.OutChannels*volume(s.Out)),
		scale: make([]float32, s.OutChannels), offset: make([]float32, s.OutChannels)}
	for i := range o.x {
		o.x[i] = number(s.X)
	}
	for i := range o.w {
		o.w[i] = number(dtype.Int8)
	}
	for i := range o.sum {
		if s.Sum != dtype.Unknown {
			o.sum[i] = number(s.Sum)
		}
	}
	fan := math.Sqrt(float64(s.InChannels / s.Groups * volume(s.Kernel)))
	for i := range o.scale {
		o.scale[i] = float32((0.5 + rng.Float64()) * 2e-4 / fan)
		o.offset[i] = float32(rng.NormFloat64())
	}
	return s, o
}

// TestInt8IsExact compares the library's kernels and our own with the definition, to the bit, with
// weights packed and not, and in both layouts.
func TestInt8IsExact(t *testing.T) {
	used := map[string]int{}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s, o := anyInt8(rng)
		c := integerCase{t, fmt.Sprintf("seed %d: %+v", seed, s), o, reference(&s, o)}
		c.check("plain loops", cpu.PlainInt8(s, 2), s)
		if len(s.Kernel) > 0 && rng.IntN(2) == 0 {
			s.XLayout = cpu.LayoutLast
		}
		if len(s.Kernel) > 0 && rng.IntN(2) == 0 {
			s.YLayout, s.SumLayout = cpu.LayoutLast, cpu.LayoutLast
		}
		s.Packed = rng.IntN(2) == 0
		if k, ok := cpu.TiledInt8(s, 1+rng.IntN(3)); ok {
			used["tiles"]++
			c.check("tiles", k, s)
		}
		s.XLayout = s.YLayout
		k, err := cpu.NewInt8(s, 2)
		if err != nil {
			used[err.Error()]++
			continue
		}
		for _, name := range k.Impls() {
			used[strings.SplitN(name, ":", 2)[0]]++
		}
		c.check(fmt.Sprint(k.Impls()), k, s)
	}
	t.Logf("steps by implementation: %v", used)
}

// integerCase is a layer with its operands and outputs, plain.
type integerCase struct {
	t    *testing.T
	name string
	o    integers
	want []float64
}

// check runs the layer by a kernel in the layouts that s says.
func (c *integerCase) check(kind string, k cpu.Int8, s cpu.Int8Spec) {
	y := make([]float32, len(c.want)+16)
	ops := cpu.Int8Operands{Y: unsafe.Pointer(&y[0]),
		X:     bytesOf(c.o.x, s.Batch, s.InChannels, s.XLayout == cpu.LayoutLast),
		Scale: unsafe.Pointer(&c.o.scale[0]), Offset: unsafe.Pointer(&c.o.offset[0]),
		W: c.weights(k, s.Packed)}
	if s.Sum != dtype.Unknown {
		ops.Sum = bytesOf(c.o.sum, s.Batch, s.OutChannels, s.SumLayout == cpu.LayoutLast)
	}
	if err := k.Run(ops, scratch(c.t, k.Scratch())); err != nil {
		c.t.Fatalf("%s, %s: %v", c.name, kind, err)
	}
	got := read(ops.Y, s.Y, len(c.want), s.Batch, s.OutChannels, s.YLayout == cpu.LayoutLast)
	for i := range c.want {
		if got[i] != c.want[i] {
			c.t.Errorf("%s, %s: output %d is %v, want %v", c.name, kind, i, got[i], c.want[i])
			return
		}
	}
}

// weights returns the weights as a kernel reads them.
func (c *integerCase) weights(k cpu.Int8, packed bool) unsafe.Pointer {
	w := bytesOf(c.o.w, 1, 1, false)
	if !packed {
		return w
	}
	pack, err := k.Packing()
	if err != nil {
		c.t.Fatal(err)
	}
	b := make([]float64, pack.Bytes/8+8)
	if err := pack.Run(unsafe.Pointer(&b[0]), w, scratch(c.t, pack.Scratch())); err != nil {
		c.t.Fatal(err)
	}
	return unsafe.Pointer(&b[0])
}
