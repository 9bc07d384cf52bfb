//go:build cuda

package nn

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(UpSampling, func(p UpSamplingParams, a *op.Args) (*op.Prepared, error) {
		if p.SampleType == "bilinear" {
			return deconvolutionCUDA(bilinear(p), a)
		}
		return nearestCUDA(p, "grow", a.In, a.Out[0], func(q *cuda.Queue, f *cuda.Function,
			c *op.Call, k growArgs, i int) error {
			k.in, k.out, k.more = c.In[i].Data, c.Out[0].Data, attach.B2I(i > 0 &&
				p.MultiInputMode == "sum")
			return cuda.LaunchWith(q, f, q.Each(k.batch*k.channels*k.h*k.fh*k.w*k.fw), &k)
		})
	})
	attach.CUDA(UpSamplingGrad, func(p UpSamplingParams, a *op.Args) (*op.Prepared, error) {
		return nearestCUDA(p, "grow_grad", a.Out, a.In[0], func(q *cuda.Queue, f *cuda.Function,
			c *op.Call, k growArgs, i int) error {
			if c.Out[i].Data == nil {
				return nil
			}
			k.in, k.out = c.In[0].Data, c.Out[i].Data
			return cuda.LaunchWith(q, f, q.Each(k.batch*k.channels*k.h*k.w), &k)
		})
	})
}
