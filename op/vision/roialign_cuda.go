//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ROIAlign, func(p ROIAlignParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.regionsCUDA(a.In[0], a.Out[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(cuda.Func("sample", "roi_align", a.In[0].DType),
			a.Out[0].Shape.Size(), k, func(k regionArgs, c *op.Call) regionArgs {
				k.out, k.in, k.rois = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
	attach.CUDA(roiAlignGrad, func(p ROIAlignParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.regionsCUDA(a.Out[0], a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(cuda.Func("sample", "roi_align_grad", a.Out[0].DType),
			a.Out[0].Shape.Size(), k, func(k regionArgs, c *op.Call) regionArgs {
				k.out, k.in, k.rois = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
