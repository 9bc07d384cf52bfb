//go:build cuda

package prim

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, h := range []op.Handle[CastParams]{Cast, AmpCast} {
		attach.CUDA(h, func(_ CastParams, a *op.Args) (*op.Prepared, error) {
			return attach.CUDACast(a)
		})
	}
	attach.CUDA(CastLike, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDACast(a)
	})
	attach.CUDA(AmpMultiCast, func(_ AmpMultiCastParams, a *op.Args) (*op.Prepared, error) {
		list := make([]*op.Prepared, len(a.In))
		for i := range list {
			var err error
			if list[i], err = attach.CUDACast(&op.Args{In: a.In[i : i+1],
				Out: a.Out[i : i+1]}); err != nil {
				return nil, err
			}
		}
		return attach.OnQueue(0, func(_ *cuda.Queue, c *op.Call) error {
			for i, k := range list {
				if c.Out[i].Data == nil {
					continue
				}
				if err := k.Run(&op.Call{In: c.In[i : i+1], Out: c.Out[i : i+1],
					Queue: c.Queue}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
