//go:build cgo

package nn

import (
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Convolution, convC)
	attach.TierC(ConvolutionGrad, convGradC)
}

// convSpec describes the convolution of data to output; ok is false when there is nothing to
// compute, or operands are neither all float32 nor all bfloat16.
func (p ConvolutionParams) convSpec(data, output dtype.Shape, a *op.Args) (s cpu.ConvSpec,
	ok bool) {
	axes := len(p.Kernel)
	each := func(list []int, def int) []int {
		out := make([]int, axes)
		for i := range out {
			out[i] = at(list, i, def)
		}
		return out
	}
	s = cpu.ConvSpec{Batch: data[0], InChannels: data[1], OutChannels: p.NumFilter,
		Groups: p.NumGroup, In: data[2:], Out: output[2:],
		Kernel: p.Kernel, Stride: each(p.Stride, 1), Dilate: each(p.Dilate, 1), Pad: each(p.Pad, 0),
		Bias: !p.NoBias, Train: a.Train}
	taps := float64(data[1]/p.NumGroup) * float64(dtype.Shape(p.Kernel).Size())
	s.Threads = attach.Threads(a, device.Work{Flops: 2 * taps * float64(output.Size())})
	s.DType = a.In[0].DType
	served := float32s(a) || all(a, dtype.BFloat16) && cpu.HasBFloat16()
	return s, served && data.Size() > 0 && output.Size() > 0
}

func convC(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
	s, ok := p.convSpec(a.In[0].Shape, a.Out[0].Shape, a)
	if !ok || !attach.AllOf(s.DType, a.In) || !attach.AllOf(s.DType, a.Out) {
		return nil, op.ErrUnsupported
	}
	k, err := cpu.NewConv(s)
	if err != nil {
		return nil, refused(s.DType, err)
	}
	return &op.Prepared{Threads: s.Threads, Scratch: k.Scratch(), Impls: k.Impls(),
		Run: func(c *op.Call) error {
			var bias unsafe.Pointer
			if s.Bias {
				bias = c.In[2].Data
			}
			return k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data, bias, c.Scratch)
		}}, nil
}

func convGradC(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
	s, ok := p.convSpec(a.In[1].Shape, a.In[0].Shape, a)
	if !ok || a.In[2].Layout != nil {
		return nil, op.ErrUnsupported
	}
	if s.DY, ok = memoryOf(a.In[0]); !ok {
		return nil, op.ErrUnsupported
	}
	if s.X, ok = memoryOf(a.In[1]); !ok {
		return nil, op.ErrUnsupported
	}
	s.Train, s.Blocked = true, (a.In[0].Layout != nil || a.In[1].Layout != nil) && cpu.HasBlocks()
	s.AnyDX = s.Blocked && a.Chooses(0) || onePixel(a.In[1].Shape)
	// The bias alone is wanted rarely enough to compute the weight's gradient along with it.
	wantW := a.Needs(1) || s.Bias && a.Needs(2)
	s.Winograd = s.Blocked && s.DType == dtype.Float32 &&
		FusedConvolutionOf(p).SuitsWinograd(a.In[1].Shape, a.In[0].Shape)
	k, err := newConvGrad(s, a.Needs(0), wantW)
	if err != nil {
		return nil, refused(s.DType, err)
	}
	w := newSpare(k.Scratch(), wantW && !a.Needs(1), a.Out[1].Bytes)
	b := newSpare(w.end, s.Bias && wantW && !a.Needs(2), s.DType.Size()*s.OutChannels)
	out := slices.Clone(a.Out)
	if !onePixel(a.In[1].Shape) {
		out[0] = attach.InLayout(out[0], k.DX)
	}
	return &op.Prepared{Threads: s.Threads, Scratch: b.end, Impls: k.Impls(), Out: out,
		Run: func(c *op.Call) error {
			o := cpu.ConvGrads{DX: c.Out[0].Data, DW: w.or(c.Out[1].Data, c.Scratch),
				DY: c.In[0].Data,
				X:  c.In[1].Data, W: c.In[2].Data}
			if s.Bias {
				o.DBias = b.or(c.Out[2].Data, c.Scratch)
			}
			return k.Run(o, c.Scratch)
		}}, nil
}

// newConvGrad prepares gradients, by Winograd's algorithm as far as s asks for it and it applies in
// the scratch memory that it may take: for both gradients, for the gradient of data alone, or for
// none.
func newConvGrad(s cpu.ConvSpec, wantX, wantW bool) (cpu.ConvGrad, error) {
	if s.Winograd {
		for _, direct := range []bool{false, true} {
			s.DirectDW = direct
			if k, err := cpu.NewConvGrad(s, wantX, wantW); err == nil &&
				k.Scratch() <= winogradScratch {
				return k, nil
			}
		}
		s.Winograd = false
	}
	return cpu.NewConvGrad(s, wantX, wantW)
}

// spare is scratch memory for an output that is computed although nobody wants it.
type spare struct {
	used       bool
	begin, end int
}

func newSpare(begin int, used bool, bytes int) spare {
	if !used {
		return spare{end: begin}
	}
	begin = attach.Align(begin)
	return spare{true, begin, begin + bytes}
}

// or returns out, or the spare memory in its place.
func (s spare) or(out, scratch unsafe.Pointer) unsafe.Pointer {
	if s.used {
		return unsafe.Add(scratch, s.begin)
	}
	return out
}
