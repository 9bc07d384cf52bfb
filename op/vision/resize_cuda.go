//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(BilinearResize2D, func(p BilinearResize2DParams, a *op.Args) (*op.Prepared, error) {
		return planesCUDA("resize", a.In[0], a.Out[0], false, attach.B2I(p.NoAlignCorners))
	})
	attach.CUDA(bilinearGrad, func(p BilinearResize2DParams, a *op.Args) (*op.Prepared, error) {
		return planesCUDA("resize_grad", a.Out[0], a.In[0], true, attach.B2I(p.NoAlignCorners))
	})
}
