//go:build cgo

package quant

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/nn"
)

func init() {
	attach.TierC(FusedProduct, fusedC)
}

// layoutOf returns the layout of an operand, if it is plain or has its channels last.
func layoutOf(d op.Desc) (cpu.Layout, bool) {
	if d.Layout == nil {
		return cpu.LayoutPlain, true
	}
	l, ok := d.Layout.(cpu.Layout)
	return l, ok && l == cpu.LayoutLast
}

// inLayout returns d in a layout.
func inLayout(d op.Desc, l cpu.Layout) op.Desc {
	if d = op.Plain(d.DType, d.Shape); l != cpu.LayoutPlain {
		d.Layout = l
	}
	return d
}

// each returns the numbers of a window, which has a default where none is given.
func each(list []int, n, def int) []int {
	if len(list) == n {
		return list
	}
	out := make([]int, n)
	for i := range out {
		out[i] = def
	}
	return out
}

// spec describes the product for operands as they come; ok is false where the kernel cannot take
// their layouts or has nothing to compute.
func (p FusedProductParams) spec(a *op.Args) (s cpu.Int8Spec, ok bool) {
	x, y, n := a.In[0], a.Out[0], len(p.Kernel)
	s = cpu.Int8Spec{Batch: x.Shape[0], OutChannels: p.NumFilter, X: x.DType, Y: y.DType,
		Sum: dtype.Unknown, ReLU: p.ReLU, Scale: float32(p.Scale.Value()),
		SumStep: float32(p.SumStep.Value())}
	if x.Shape.Size() == 0 || y.Shape.Size() == 0 || a.In[1].Layout != nil || y.Layout != nil ||
		n == 1 {
		return s, false
	}
	if s.InChannels = x.Shape[1:].Size(); n > 0 {
		s.InChannels, s.In, s.Out = x.Shape[1], x.Shape[2:], y.Shape[2:]
		s.Kernel, s.Stride = p.Kernel, each(p.Stride, n, 1)
		s.Dilate, s.Pad = each(p.Dilate, n, 1), each(p.Pad, n, 0)
	}
	if s.XLayout, ok = layoutOf(x); !ok || n == 0 && x.Layout != nil {
		return s, false
	}
	if p.Sum {
		s.Sum = a.In[fusedSum].DType
		s.SumLayout, ok = layoutOf(a.In[fusedSum])
	}
	return s, ok
}

func fusedC(p FusedProductParams, a *op.Args) (*op.Prepared, error) {
	s, ok := p.spec(a)
	if !ok || p.Sum && s.Y == dtype.Float32 {
		return nil, op.ErrUnsupported
	}
	taps := float64(a.In[1].Shape[1:].Size())
	threads := attach.Threads(a, device.Work{Flops: taps * float64(a.Out[0].Shape.Size()) / 2})
	free := a.Chooses(0)
	if s.Packed = free; free && !p.Dense() {
		s.YLayout = cpu.LayoutLast
	}
	in := append([]op.Desc{}, a.In...)
	if !p.Dense() {
		s.XLayout, in[0] = cpu.LayoutLast, inLayout(in[0], cpu.LayoutLast)
	}
	if p.Sum && s.YLayout == cpu.LayoutLast {
		s.SumLayout, in[fusedSum] = cpu.LayoutLast, inLayout(in[fusedSum], cpu.LayoutLast)
	}
	k, err := cpu.NewInt8(s, threads)
	if err != nil {
		return plainProduct(p, a, s, threads)
	}
	done := &op.Prepared{Threads: threads, Scratch: k.Scratch(), Impls: k.Impls(), In: in,
		Apart: s.SumLayout != s.YLayout, Out: []op.Desc{inLayout(a.Out[0], s.YLayout)}}
	if s.Packed {
		pack, err := k.Packing()
		if err != nil {
			return nil, err
		}
		in[1].Layout, in[1].Bytes = pack, pack.Bytes
	}
	done.Run = productRun(k, p.Sum)
	return done, nil
}

// plainProduct prepares loops of our own, which want plain arrays.
func plainProduct(p FusedProductParams, a *op.Args, s cpu.Int8Spec, threads int) (*op.Prepared,
	error) {
	for _, d := range a.In {
		if d.Layout != nil {
			return nil, op.ErrUnsupported
		}
	}
	s.XLayout, s.YLayout, s.SumLayout = cpu.LayoutPlain, cpu.LayoutPlain, cpu.LayoutPlain
	return &op.Prepared{Threads: threads, Run: productRun(cpu.PlainInt8(s, threads), p.Sum)}, nil
}

func productRun(k cpu.Int8, sum bool) func(c *op.Call) error {
	return func(c *op.Call) error {
		o := cpu.Int8Operands{Y: c.Out[0].Data, X: c.In[0].Data, W: c.In[1].Data,
			Scale: c.In[fusedScale].Data, Offset: c.In[fusedOffset].Data}
		if sum {
			o.Sum = c.In[fusedSum].Data
		}
		return k.Run(o, c.Scratch)
	}
}

func init() {
	attach.TierC(QuantizeV2, quantizeC)
	attach.TierC(Dequantize, dequantizeC)
	attach.TierC(Pooling, poolC)
}

// quantizeC quantizes with a known range.
func quantizeC(p QuantizeV2Params, a *op.Args) (*op.Prepared, error) {
	x, y := a.In[0], a.Out[0]
	r := calibrated(p.MinCalibRange, p.MaxCalibRange)
	if x.DType != dtype.Float32 || x.Layout != nil || !r.known || x.Shape.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	m := magnitude(r.low, r.high)
	if y.DType == dtype.Int8 {
		r.low, r.high = -m, m
	}
	q := cpu.Quantizer{Scale: RangeOf(y.DType) / m, Type: y.DType, N: x.Shape[0], Channels: 1,
		Pixels:  x.Shape[1:].Size(),
		Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
	out := append([]op.Desc{}, a.Out...)
	if n := len(x.Shape); n >= 4 && n <= 5 && a.Chooses(0) {
		q.Channels, q.Pixels, q.Last = x.Shape[1], x.Shape[2:].Size(), true
		out[0] = inLayout(y, cpu.LayoutLast)
	}
	return &op.Prepared{Threads: q.Threads, Out: out, Run: func(c *op.Call) error {
		if c.Out[0].Data != nil {
			q.Run(c.Out[0].Data, c.In[0].Data)
		}
		storeRange(c.Out[1:], r.low, r.high)
		return nil
	}}, nil
}

func dequantizeC(_ DequantizeParams, a *op.Args) (*op.Prepared, error) {
	x := a.In[0]
	l, ok := layoutOf(x)
	if !ok || l != cpu.LayoutPlain && !a.Chooses(0) || x.Shape.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	n, t := x.Shape.Size(), x.DType
	threads := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	return &op.Prepared{Threads: threads, Out: []op.Desc{inLayout(a.Out[0], l)},
		Run: func(c *op.Call) error {
			cpu.Dequantize(c.Out[0].Data, c.In[0].Data, t, magnitudeOf(c.In[1:])/RangeOf(t), n,
				threads)
			return nil
		}}, nil
}

// poolC pools by max. It takes and gives channels last where it may.
func poolC(p nn.PoolingParams, a *op.Args) (*op.Prepared, error) {
	x, y := a.In[0], a.Out[0]
	if p.PoolType != "max" || x.Shape.Size() == 0 || y.Shape.Size() == 0 ||
		p.Layout != "None" && p.Layout != "NCHW" && p.Layout != "NCDHW" {
		return nil, op.ErrUnsupported
	}
	n := len(x.Shape) - 2
	if p.GlobalPool {
		p.Kernel, p.Stride, p.Pad = x.Shape[2:], nil, nil
	}
	b := cpu.BytePool{Batch: x.Shape[0], Channels: x.Shape[1], In: x.Shape[2:], Out: y.Shape[2:],
		Kernel: p.Kernel, Stride: each(p.Stride, n, 1), Pad: each(p.Pad, n, 0),
		Signed: x.DType == dtype.Int8}
	reads := 1.0
	for i, k := range b.Kernel {
		reads *= float64(k)
		if b.Pad[i] >= k || (b.Out[i]-1)*b.Stride[i]-b.Pad[i] >= b.In[i] {
			return nil, op.ErrUnsupported // a window in the padding altogether
		}
	}
	l, ok := layoutOf(x)
	if !ok {
		return nil, op.ErrUnsupported
	}
	b.XLast = l == cpu.LayoutLast
	out := append([]op.Desc{}, a.Out...)
	if b.YLast = a.Chooses(0); b.YLast {
		out[0] = inLayout(y, cpu.LayoutLast)
	}
	b.Threads = attach.Threads(a, device.Work{Bytes: reads * float64(y.Shape.Size())})
	return &op.Prepared{Threads: b.Threads, Out: out, Run: func(c *op.Call) error {
		if c.Out[0].Data != nil {
			b.Run(c.Out[0].Data, c.In[0].Data)
		}
		storeRange(c.Out[1:], number(c.In[1]), number(c.In[2]))
		return nil
	}}, nil
}
