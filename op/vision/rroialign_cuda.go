//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(RROIAlign, func(p RROIAlignParams, a *op.Args) (*op.Prepared, error) {
		k, err := newRegionArgs(a.In[0], a.Out[0].Shape, p.SpatialScale)
		if err != nil {
			return nil, err
		}
		k.samples = p.SamplingRatio.Value()
		return attach.CUDAEach(cuda.Func("sample", "rroi_align", a.In[0].DType),
			a.Out[0].Shape.Size(), k, func(k regionArgs, c *op.Call) regionArgs {
				k.out, k.in, k.rois = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
