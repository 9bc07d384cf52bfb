//go:build cuda

package index

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Pick, pickCUDA)
	attach.CUDA(BatchTake, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return pickCUDA(PickParams{Axis: op.Some(-1), Mode: "clip"}, a)
	})
	attach.CUDA(pickGrad, func(p PickParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.lookup(a.Out[0].Shape, a.In[1])
		if err != nil {
			return nil, err
		}
		place, err := gatherCUDA("place", k, a.Out[0], 0, 1)
		if err != nil {
			return nil, err
		}
		bytes := a.Out[0].Bytes
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			if err := q.Clear(c.Out[0].Data, bytes); err != nil {
				return err
			}
			return place.Run(c)
		})
	})
}
