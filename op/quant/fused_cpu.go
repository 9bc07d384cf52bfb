//go:build cgo

package quant

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(FusedProduct, fusedC)
}

// layoutOf returns the layout of an operand, if it is plain or has its channels last.
func layoutOf(d op.Desc) (cpu.Layout, bool) {
	l, ok := attach.LayoutOf(d)
	return l, ok && (l == cpu.LayoutPlain || l == cpu.LayoutLast)
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
	s = cpu.Int8Spec{Batch: x.Shape[0], OutChannels: p.NumFilter,
		Groups: p.NumGroup, X: x.DType, Y: y.DType,
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
	if s.Packed = a.Chooses(0); s.Packed && !p.Dense() {
		s.YLayout = cpu.LayoutLast
	}
	own := s
	if !p.Dense() {
		s.XLayout = cpu.LayoutLast
	}
	if p.Sum && s.YLayout == cpu.LayoutLast {
		s.SumLayout = cpu.LayoutLast
	}
	if k, err := cpu.NewInt8(s, threads); err == nil {
		return productOf(p, a, k, &s, threads)
	}
	if own.SumLayout = own.YLayout; own.Y == dtype.Float32 { // which other operators read
		own.YLayout = cpu.LayoutPlain
	}
	if k, ok := cpu.TiledInt8(own, threads); ok {
		return productOf(p, a, k, &own, threads)
	}
	return plainProduct(p, a, s, threads)
}

// productOf prepares a layer with the layouts that s says.
func productOf(p FusedProductParams, a *op.Args, k cpu.Int8, s *cpu.Int8Spec, threads int) (
	*op.Prepared, error) {
	in := append([]op.Desc{}, a.In...)
	in[0] = attach.InLayout(in[0], s.XLayout)
	if p.Sum {
		in[fusedSum] = attach.InLayout(in[fusedSum], s.SumLayout)
	}
	if s.Packed {
		pack, err := k.Packing()
		if err != nil {
			return nil, err
		}
		in[1].Layout, in[1].Bytes = pack, pack.Bytes
	}
	return &op.Prepared{Threads: threads, Scratch: k.Scratch(), Impls: k.Impls(), In: in,
		Apart: s.SumLayout != s.YLayout, Out: []op.Desc{attach.InLayout(a.Out[0], s.YLayout)},
		Run: productRun(k, p.Sum)}, nil
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
