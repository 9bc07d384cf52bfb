//go:build cuda

package nn

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.CUDA(Pad, func(p PadParams, a *op.Args) (*op.Prepared, error) {
		if p.Mode != "constant" {
			return p.mirrorCUDA("pad", a.In[0], a.Out[0])
		}
		return attach.CUDAMoves(func(p PadParams, c *op.Call, m *attach.Moves) error {
			m.Fill(c.Out[0], p.ConstantValue)
			m.Copy(c.In[0].Shape, p.inside(c.Out[0]), loop.Dense(c.In[0]))
			return nil
		})(p, a)
	})
	attach.CUDA(PadGrad, func(p PadParams, a *op.Args) (*op.Prepared, error) {
		if p.Mode != "constant" {
			return p.mirrorCUDA("pad_grad", a.Out[0], a.In[0])
		}
		return attach.CUDAMoves(func(p PadParams, c *op.Call, m *attach.Moves) error {
			m.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), p.inside(c.In[0]))
			return nil
		})(p, a)
	})
}

// padArgs is the parameter of the kernels in tensor.cu that repeat elements at borders.
type padArgs struct {
	out, in        attach.Any
	n, axes, edge  int
	dim, low, high [cuda.Axes]int
}

// mirrorCUDA prepares a kernel between data and a padded array that repeats its elements.
func (p PadParams) mirrorCUDA(name string, data, padded op.Desc) (*op.Prepared, error) {
	s := data.Shape
	if len(s) > cuda.Axes || s.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	k := padArgs{n: padded.Shape.Size(), axes: len(s), edge: attach.B2I(p.Mode == "edge")}
	for i, d := range s {
		k.dim[i], k.low[i], k.high[i] = d, p.PadWidth[2*i], p.PadWidth[2*i+1]
	}
	if name == "pad_grad" {
		k.n = s.Size()
	}
	return attach.CUDAEach(attach.AnyFunc("tensor", name), k.n, k,
		func(k padArgs, c *op.Call) padArgs {
			k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
			return k
		})
}

// inside views the part of a padded array that is not padding.
func (p PadParams) inside(t op.Tensor) loop.View {
	v := loop.Dense(t)
	for a, st := range v.Strides {
		v.Off += p.PadWidth[2*a] * st
	}
	return v
}
