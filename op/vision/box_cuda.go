//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(BoxIoU, func(p BoxIoUParams, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok {
			return nil, op.ErrUnsupported
		}
		k := pairsArgs{n: a.In[0].Shape.Size() / 4, m: a.In[1].Shape.Size() / 4,
			center: attach.B2I(p.Format == "center")}
		return attach.CUDAEach(cuda.Func("boxes", "box_iou", t), k.n*k.m, k,
			func(k pairsArgs, c *op.Call) pairsArgs {
				k.out, k.lhs, k.rhs = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
