//go:build cgo

package nn

import (
	"math"
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Reorder, reorderC)
}

func reorderC(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
	if bytes := all(a, dtype.Uint8) || all(a, dtype.Int8); !bytes && !float32s(a) &&
		!all(a, dtype.BFloat16) {
		return nil, op.ErrUnsupported
	}
	from, ok := attach.LayoutOf(a.In[0])
	if !ok {
		return nil, op.ErrUnsupported
	}
	if w, ok := a.Out[0].Layout.(*cpu.Packing); ok && from == cpu.LayoutPlain {
		return &op.Prepared{Threads: w.Threads(), Scratch: w.Scratch(), Impls: w.Impls(),
			Run: func(c *op.Call) error {
				return w.Run(c.Out[0].Data, c.In[0].Data, c.Scratch)
			}}, nil
	}
	to, ok := attach.LayoutOf(a.Out[0])
	if shape := a.In[0].Shape; !ok || shape.Size() == 0 || !from.Fits(shape) || !to.Fits(shape) {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Bytes: 2 * attach.Bytes(a)})
	k, err := cpu.NewReorder(a.In[0].DType, a.In[0].Shape, from, to, threads)
	if err != nil {
		return nil, err
	}
	return &op.Prepared{Threads: threads, Scratch: k.Scratch(), Impls: k.Impls(),
		Run: func(c *op.Call) error {
			return k.Run(c.Out[0].Data, c.In[0].Data, c.Scratch)
		}}, nil
}

// foldC folds in float32 and, when the weight is wanted in the layout of a convolution, brings it
// into that from scratch memory.
func foldC(p FoldBatchNormParams, a *op.Args) (*op.Prepared, error) {
	out := dtype.Float32
	if p.Narrow {
		out = dtype.BFloat16
	}
	if !attach.AllOf(dtype.Float32, a.In) || a.Out[0].DType != out || a.Out[1].DType != out ||
		a.Out[1].Layout != nil {
		return nil, op.ErrUnsupported
	}
	w, packed := a.Out[0].Layout.(*cpu.Packing)
	if !packed && a.Out[0].Layout != nil {
		return nil, op.ErrUnsupported
	}
	if p.Narrow {
		return foldNarrowC(p, a, w)
	}
	return foldingInto(w, a, func(c *op.Call, weight, bias []float32) {
		foldFloats(p, weight, bias, inputFloats(c.In))
	}), nil
}

// foldingInto makes a kernel of a function that computes a weight and a bias; the weight comes into
// the layout of a convolution where w, which may be nil, is one.
func foldingInto(w *cpu.Packing, a *op.Args,
	fold func(c *op.Call, weight, bias []float32)) *op.Prepared {
	if w == nil {
		return attach.Kernel(1, 0, func(c *op.Call) {
			fold(c, attach.Floats(c.Out[0]), attach.Floats(c.Out[1]))
		})
	}
	size := a.In[0].Shape.Size()
	begin := attach.Align(4 * size)
	return &op.Prepared{Threads: w.Threads(), Scratch: begin + w.Scratch(), Impls: w.Impls(),
		Run: func(c *op.Call) error {
			plain := attach.Scratch(c, begin/4)
			fold(c, plain[:size], attach.Floats(c.Out[1]))
			return w.Run(c.Out[0].Data, c.Scratch, unsafe.Add(c.Scratch, begin))
		}}
}

// foldNarrowC folds in float32 scratch memory, rounds there, and brings the weight into the layout
// of a convolution where one is given.
func foldNarrowC(p FoldBatchNormParams, a *op.Args, w *cpu.Packing) (*op.Prepared, error) {
	size, channels := a.In[0].Shape.Size(), a.In[1].Shape.Size()
	round, _ := cpu.NewCast(dtype.BFloat16, dtype.Float32, 1)
	bias := attach.Align(4 * size)
	narrow := attach.Align(bias + 4*channels)
	k := &op.Prepared{Threads: 1, Scratch: narrow}
	rest := attach.Align(narrow + 2*size)
	if w != nil {
		k.Threads, k.Scratch, k.Impls = w.Threads(), rest+w.Scratch(), w.Impls()
	}
	k.Run = func(c *op.Call) error {
		plain := attach.Scratch(c, narrow/4)
		foldFloats(p, plain[:size], plain[bias/4:bias/4+channels], inputFloats(c.In))
		round.Run(c.Out[1].Data, unsafe.Add(c.Scratch, bias), channels)
		if w == nil {
			round.Run(c.Out[0].Data, c.Scratch, size)
			return nil
		}
		round.Run(unsafe.Add(c.Scratch, narrow), c.Scratch, size)
		return w.Run(c.Out[0].Data, unsafe.Add(c.Scratch, narrow), unsafe.Add(c.Scratch, rest))
	}
	return k, nil
}

// foldFloats is foldRef for float32; in holds the inputs of FoldBatchNorm.
func foldFloats(p FoldBatchNormParams, weight, bias []float32, in [][]float32) {
	row := len(weight) / max(len(bias), 1)
	for k := range bias {
		s := 1 / math.Sqrt(float64(in[4][k])+p.Eps.Value())
		if p.NoFixGamma {
			s *= float64(in[1][k])
		}
		b := 0.0
		if !p.NoBias {
			b = float64(in[5][k])
		}
		bias[k] = float32((b-float64(in[3][k]))*s + float64(in[2][k]))
		from := in[0][k*row : (k+1)*row]
		to := weight[k*row:][:row]
		for i, v := range from {
			to[i] = v * float32(s)
		}
	}
}
