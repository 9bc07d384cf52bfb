//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	for h, axis := range map[op.Handle[op.NoParams]]int{ImageFlipLeftRight: 1,
		ImageFlipTopBottom: 0} {
		attach.CUDA(h, attach.CUDAMoves(func(_ op.NoParams, c *op.Call, m *attach.Moves) error {
			m.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), mirrored(c.In[0], axis))
			return nil
		}))
	}
}
