//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(BroadcastTo, repeatCUDA[BroadcastToParams]())
	attach.CUDA(BroadcastAxis, repeatCUDA[BroadcastAxisParams]())
	attach.CUDA(BroadcastLike, repeatCUDA[BroadcastLikeParams]())
	attach.CUDA(SumLike, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		in, out := a.In[0].Shape, a.Out[0].Shape
		lead := len(in) - len(out)
		if in.Size() == out.Size() {
			return attach.CUDAMove[op.NoParams]()(op.NoParams{}, a)
		}
		if lead < 0 {
			return nil, op.ErrUnsupported
		}
		mask := make([]bool, len(in))
		for i := range mask {
			mask[i] = i < lead || out[i-lead] == 1
		}
		return attach.CUDAReduce(a, "sum", mask, 1)
	})
}
