//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ImageToTensor, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return pixelsCUDA("pixels_first", a.In[0].Shape)
	})
	attach.CUDA(imageToTensorGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return pixelsCUDA("pixels_last", a.Out[0].Shape)
	})
	attach.CUDA(ImageNormalize, func(p ImageNormalizeParams, a *op.Args) (*op.Prepared, error) {
		return p.scaleCUDA(a, p.Mean)
	})
	attach.CUDA(imageNormalizeGrad, func(p ImageNormalizeParams, a *op.Args) (*op.Prepared, error) {
		return p.scaleCUDA(a, []float64{0})
	})
}
