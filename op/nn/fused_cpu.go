//go:build cgo

package nn

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(FusedConvolution, func(p FusedConvolutionParams, a *op.Args) (*op.Prepared,
		error) {
		return fusedConvC(p, 0, a)
	})
	attach.TierC(FusedConvolutionAdd, func(p FusedConvolutionParams, a *op.Args) (*op.Prepared,
		error) {
		return fusedConvC(p, 1, a)
	})
	attach.TierC(FusedFullyConnected, func(p FusedFullyConnectedParams, a *op.Args) (*op.Prepared,
		error) {
		if attach.BFloat16(a) {
			return narrowFC(p.plain(), true, a)
		}
		k, err := fcC(p.plain(), a)
		if err != nil {
			return nil, err
		}
		relu := cpu.Map{Op: cpu.ReLU, Threads: attach.Threads(a,
			device.Work{Bytes: 2 * float64(a.Out[0].Bytes)})}
		return after(k, func(c *op.Call) {
			relu.Run(c.Out[0].Data, c.Out[0].Data, c.Out[0].Shape.Size())
		}), nil
	})

	attach.TierC(FoldBatchNorm, foldC)
}

// fusedConv is a convolution for operands as they come.
type fusedConv struct {
	spec cpu.ConvSpec
	add  int // 1 with a sum
	in   []op.Desc
	out  op.Desc
}

// onePixel reports whether an array has one pixel per channel: all its layouts without padding are
// one.
func onePixel(s dtype.Shape) bool { return len(s) > 1 && s[2:].Size() == 1 }

// memoryOf is attach.LayoutOf, except that an array whose plain and blocked layouts are the same
// memory counts as blocked where kernels prefer blocks.
func memoryOf(d op.Desc) (cpu.Layout, bool) {
	if onePixel(d.Shape) && d.Shape[1]%16 == 0 && cpu.HasBlocks() {
		return cpu.LayoutBlock16, true
	}
	return attach.LayoutOf(d)
}

func fusedConvC(p FusedConvolutionParams, add int, a *op.Args) (*op.Prepared, error) {
	s, ok := p.plain().convSpec(a.In[0].Shape, a.Out[0].Shape, a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	s.Add, s.ReLU, s.AnyY, s.Packed = add > 0, p.ReLU, a.Chooses(0), a.Chooses(0) && !a.Train
	if s.X, ok = memoryOf(a.In[0]); !ok || a.In[1].Layout != nil || a.Out[0].Layout != nil {
		return nil, op.ErrUnsupported
	}
	if add > 0 {
		if s.Sum, ok = memoryOf(a.In[fusedSum]); !ok {
			return nil, op.ErrUnsupported
		}
	}
	s.Blocked = (p.Blocked || a.Train) && s.AnyY && cpu.HasBlocks()
	s.Winograd = s.Blocked && s.DType == dtype.Float32 && (p.Winograd || a.Train &&
		p.SuitsWinograd(a.In[0].Shape, a.Out[0].Shape))
	k, err := summing(&s)
	if s.Winograd && (err != nil || k.Scratch() > winogradScratch) {
		s.Winograd = false
		k, err = summing(&s)
	}
	if err != nil {
		return nil, refused(s.DType, err)
	}
	f := fusedConv{spec: s, add: add, in: append([]op.Desc{}, a.In...),
		out: attach.InLayout(a.Out[0], k.Y)}
	return f.prepared(k)
}

// winogradScratch is the most scratch memory that Winograd's algorithm may take.
const winogradScratch = 96 << 20

// summing prepares a convolution that adds an array in the layout of its output.
func summing(s *cpu.ConvSpec) (cpu.Conv, error) {
	k, err := cpu.NewConv(*s)
	if err != nil || !s.Add || s.Sum == k.Y {
		return k, err
	}
	s.Sum = k.Y
	return cpu.NewConv(*s)
}

// refused is the error for a kernel that the library has not made: for bfloat16, of which it lacks
// many, the operands are converted to float32 instead.
func refused(t dtype.Type, err error) error {
	if t == dtype.BFloat16 {
		return op.ErrUnsupported
	}
	return err
}

// float32s reports whether all operands are float32, in any layout.
func float32s(a *op.Args) bool { return all(a, dtype.Float32) }

// all reports whether all operands are of one type, in any layout.
func all(a *op.Args, t dtype.Type) bool {
	for _, list := range [][]op.Desc{a.In, a.Out} {
		for i := range list {
			if list[i].DType != t {
				return false
			}
		}
	}
	return true
}

func (f fusedConv) prepared(k cpu.Conv) (*op.Prepared, error) {
	if f.spec.Packed {
		pack, err := k.Packing(f.spec.Threads)
		if err != nil {
			return nil, err
		}
		f.in[1].Layout, f.in[1].Bytes = pack, pack.Bytes
	}
	if f.add > 0 {
		f.in[fusedSum] = attach.InLayout(f.in[fusedSum], f.spec.Sum)
	}
	add, bias := f.add, f.spec.Bias
	return &op.Prepared{Threads: f.spec.Threads, Scratch: k.Scratch(), Impls: k.Impls(), In: f.in,
		Out: []op.Desc{f.out}, Run: func(c *op.Call) error {
			var b, sum unsafe.Pointer
			if bias {
				b = c.In[2+add].Data
			}
			if add > 0 {
				sum = c.In[fusedSum].Data
			}
			return k.RunAdd(c.Out[0].Data, c.In[0].Data, c.In[1].Data, b, sum, c.Scratch)
		}}, nil
}

// after makes k do something more with its result.
func after(k *op.Prepared, more func(c *op.Call)) *op.Prepared {
	run := k.Run
	k.Run = func(c *op.Call) error {
		if err := run(c); err != nil {
			return err
		}
		more(c)
		return nil
	}
	return k
}
