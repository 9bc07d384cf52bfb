//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(MultiBoxPrior, func(p MultiBoxPriorParams, a *op.Args) (*op.Prepared, error) {
		t := a.Out[0].DType
		if !cuda.Serves("boxes", t) || len(p.Sizes) > listed || len(p.Ratios) > listed {
			return nil, op.ErrUnsupported
		}
		k := priorArgs{h: a.In[0].Shape[2], w: a.In[0].Shape[3], sizes: len(p.Sizes),
			ratios: len(p.Ratios), clip: attach.B2I(p.Clip),
			stepY: p.Steps[0], stepX: p.Steps[1], offsetY: p.Offsets[0], offsetX: p.Offsets[1]}
		if k.stepY <= 0 || k.stepX <= 0 {
			k.stepY, k.stepX = 1/float64(k.h), 1/float64(k.w)
		}
		copy(k.size[:], p.Sizes)
		copy(k.ratio[:], p.Ratios)
		return attach.CUDAEach(cuda.Func("boxes", "prior", t), a.Out[0].Shape.Size()/4, k,
			func(k priorArgs, c *op.Call) priorArgs {
				k.out = c.Out[0].Data
				return k
			})
	})
}
