//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(AdaptiveAvgPooling2D, func(_ AdaptiveAvgPooling2DParams, a *op.Args) (*op.Prepared,
		error) {
		return planesCUDA("adaptive", a.In[0], a.Out[0], false, 0)
	})
	attach.CUDA(adaptiveGrad, func(_ AdaptiveAvgPooling2DParams, a *op.Args) (*op.Prepared, error) {
		return planesCUDA("adaptive_grad", a.Out[0], a.In[0], true, 0)
	})
}
