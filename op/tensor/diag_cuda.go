//go:build cuda

package tensor

import (
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.CUDA(Diag, attach.CUDAMoves(func(p DiagParams, c *op.Call, m *attach.Moves) error {
		in, out := c.In[0], c.Out[0]
		if len(in.Shape) == 1 {
			m.Clear(out)
			v, err := DiagParams{K: p.K, Axis2: op.Some(1)}.diagonal(out)
			m.Copy(in.Shape, v, loop.Dense(in))
			return err
		}
		v, err := p.diagonal(in)
		m.Copy(out.Shape, loop.Dense(out), v)
		return err
	}))
	attach.CUDA(diagGrad, attach.CUDAMoves(func(p DiagParams, c *op.Call, m *attach.Moves) error {
		dy, dx := c.In[0], c.Out[0]
		if len(dx.Shape) == 1 {
			v, err := DiagParams{K: p.K, Axis2: op.Some(1)}.diagonal(dy)
			m.Copy(dx.Shape, loop.Dense(dx), v)
			return err
		}
		m.Clear(dx)
		v, err := p.diagonal(dx)
		m.Copy(dy.Shape, v, loop.Dense(dy))
		return err
	}))
}
