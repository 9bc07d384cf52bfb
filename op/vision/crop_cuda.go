//go:build cuda

package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func init() {
	attach.CUDA(Crop, cutCUDA(func(p CropParams, t op.Tensor, kept dtype.Shape) loop.View {
		return p.window(t, kept)
	}))
	attach.CUDA(cropGrad, pasteCUDA(func(p CropParams, t op.Tensor, kept dtype.Shape) loop.View {
		return p.window(t, kept)
	}))
}
