//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(DepthToSpace, attach.CUDAMoves(func(p BlockParams, c *op.Call,
		m *attach.Moves) error {
		shape, deep, wide := p.views(c.In[0], c.Out[0])
		m.Copy(shape, wide, deep)
		return nil
	}))
	attach.CUDA(SpaceToDepth, attach.CUDAMoves(func(p BlockParams, c *op.Call,
		m *attach.Moves) error {
		shape, deep, wide := p.views(c.Out[0], c.In[0])
		m.Copy(shape, deep, wide)
		return nil
	}))
}
