//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	for _, h := range []op.Handle[ConcatParams]{Concat, RNNParamConcat} {
		attach.CUDA(h, attach.CUDAMoves(func(p ConcatParams, c *op.Call, m *attach.Moves) error {
			return p.parts(c.Out[0], c.In, func(in op.Tensor, place loop.View) {
				m.Copy(in.Shape, place, loop.Dense(in))
			})
		}))
	}
	attach.CUDA(ConcatGrad, attach.CUDAMoves(func(p ConcatParams, c *op.Call, m *attach.Moves) error {
		return p.parts(c.In[0], c.Out, func(out op.Tensor, place loop.View) {
			m.Copy(out.Shape, loop.Dense(out), place)
		})
	}))
	attach.CUDA(Stack, attach.CUDAMoves(func(p StackParams, c *op.Call, m *attach.Moves) error {
		return p.layers(c.Out[0], c.In, func(in op.Tensor, place loop.View) {
			m.Copy(in.Shape, place, loop.Dense(in))
		})
	}))
	attach.CUDA(unstack, attach.CUDAMoves(func(p StackParams, c *op.Call, m *attach.Moves) error {
		return p.layers(c.In[0], c.Out, func(out op.Tensor, place loop.View) {
			m.Copy(out.Shape, loop.Dense(out), place)
		})
	}))
}
