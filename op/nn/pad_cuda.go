//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.CUDA(Pad, func(p PadParams, a *op.Args) (*op.Prepared, error) {
		if p.Mode != "constant" {
			return nil, op.ErrUnsupported
		}
		return attach.CUDAMoves(func(p PadParams, c *op.Call, m *attach.Moves) error {
			m.Fill(c.Out[0], p.ConstantValue)
			m.Copy(c.In[0].Shape, p.inside(c.Out[0]), loop.Dense(c.In[0]))
			return nil
		})(p, a)
	})
	attach.CUDA(PadGrad, func(p PadParams, a *op.Args) (*op.Prepared, error) {
		if p.Mode != "constant" {
			return nil, op.ErrUnsupported
		}
		return attach.CUDAMoves(func(p PadParams, c *op.Call, m *attach.Moves) error {
			m.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), p.inside(c.In[0]))
			return nil
		})(p, a)
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
