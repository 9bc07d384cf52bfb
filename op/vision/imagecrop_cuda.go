//go:build cuda

package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.CUDA(ImageCrop, cutCUDA(func(p ImageCropParams, t op.Tensor, _ dtype.Shape) loop.View {
		return p.window(t)
	}))
	attach.CUDA(imageCropGrad, pasteCUDA(func(p ImageCropParams, t op.Tensor,
		_ dtype.Shape) loop.View {
		return p.window(t)
	}))
}
