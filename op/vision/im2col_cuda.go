//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Im2Col, func(p Im2ColParams, a *op.Args) (*op.Prepared, error) {
		return p.patchesCUDA("im2col", a.In[0], a.Out[0].Shape)
	})
	attach.CUDA(im2colGrad, func(p Im2ColParams, a *op.Args) (*op.Prepared, error) {
		return p.patchesCUDA("col2im", a.Out[0], a.In[0].Shape)
	})
	attach.CUDA(Col2Im, func(p Col2ImParams, a *op.Args) (*op.Prepared, error) {
		return p.patches().patchesCUDA("col2im", a.Out[0], a.In[0].Shape)
	})
}
