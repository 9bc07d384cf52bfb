//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(BilinearSampler, func(_ BilinearSamplerParams, a *op.Args) (*op.Prepared, error) {
		k, err := newSamplerArgs(a.In[0], a.In[1].Shape)
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(cuda.Func("sample", "sampler", a.In[0].DType), a.Out[0].Shape.Size(),
			k, func(k samplerArgs, c *op.Call) samplerArgs {
				k.out, k.in, k.grid = c.Out[0].Data, c.In[0].Data, attach.AnyOf(c.In[1])
				return k
			})
	})
	attach.CUDA(bilinearSamplerGrad, samplerGradCUDA)
}
