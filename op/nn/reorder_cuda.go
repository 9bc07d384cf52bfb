//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Reorder, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAReorder(a)
	})
}
