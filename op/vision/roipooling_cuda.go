//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ROIPooling, func(p ROIPoolingParams, a *op.Args) (*op.Prepared, error) {
		k, err := newRegionArgs(a.In[0], a.Out[0].Shape, p.SpatialScale)
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(cuda.Func("sample", "roi_pool", a.In[0].DType),
			a.Out[0].Shape.Size(), k, func(k regionArgs, c *op.Call) regionArgs {
				k.out, k.index, k.in, k.rois = c.Out[0].Data, c.Out[1].Data, c.In[0].Data,
					c.In[1].Data
				return k
			})
	})
	attach.CUDA(roiPoolingGrad, func(_ ROIPoolingParams, a *op.Args) (*op.Prepared, error) {
		return attach.NewGroups(1, a.Out[0].Shape.Size(), a.In[0].Shape.Size(), 1, attach.LeftOut,
			1).Sum(a.Out[0])
	})
}
