//go:build cuda

package index

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ArgMax, argCUDA("argmax"))
	attach.CUDA(ArgMin, argCUDA("argmin"))
	attach.CUDA(ArgMaxChannel, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return argCUDA("argmax")(channel(), a)
	})
}
