//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, name := range map[op.Handle[ClipParams]]string{Clip: "clip", clipMask: "clip_mask"} {
		attach.CUDA(h, func(p ClipParams, a *op.Args) (*op.Prepared, error) {
			t := a.In[0].DType
			return attach.CUDAMap(a, name, round(t, p.AMin), round(t, p.AMax))
		})
	}
}
