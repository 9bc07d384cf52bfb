//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(SumLike, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		in, out := a.In[0].Shape, a.Out[0].Shape
		lead := len(in) - len(out)
		if lead < 0 || !attach.AllOf(dtype.Float32, a.In[:1]) {
			return nil, op.ErrUnsupported
		}
		mask := make([]bool, len(in))
		for i := range mask {
			mask[i] = i < lead || out[i-lead] == 1
		}
		return reduceC(&op.Args{In: a.In[:1], Out: a.Out, Threads: a.Threads}, cpu.Sum, mask, 1)
	})
	attach.TierC(BroadcastTo, repeatC[BroadcastToParams])
	attach.TierC(BroadcastAxis, repeatC[BroadcastAxisParams])
	attach.TierC(BroadcastLike, repeatC[BroadcastLikeParams])
}
