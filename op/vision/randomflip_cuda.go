//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	for h, axis := range map[op.Handle[op.NoParams]]int{ImageRandomFlipLeftRight: 1,
		ImageRandomFlipTopBottom: 0} {
		attach.CUDA(h, func(p op.NoParams, a *op.Args) (*op.Prepared, error) {
			straight, err := attach.CUDAMove[op.NoParams]()(p, a)
			if err != nil {
				return nil, err
			}
			flipped, err := attach.CUDAMoves(func(_ op.NoParams, c *op.Call,
				m *attach.Moves) error {
				m.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), mirrored(c.In[0], axis))
				return nil
			})(p, a)
			if err != nil {
				return nil, err
			}
			scratch := max(straight.Scratch, flipped.Scratch)
			return attach.OnQueue(scratch, func(_ *cuda.Queue, c *op.Call) error {
				if flips(c.Seed) {
					return flipped.Run(c)
				}
				return straight.Run(c)
			})
		})
	}
}
