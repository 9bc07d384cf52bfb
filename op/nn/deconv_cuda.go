//go:build cuda

package nn

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Deconvolution, deconvolutionCUDA)
	attach.CUDA(DeconvolutionGrad, func(p DeconvolutionParams, a *op.Args) (*op.Prepared, error) {
		k, err := newConvCUDA(newTransposed(p, a.In[1].Shape, a.In[0].Shape), a.In[0].DType)
		if err != nil {
			return nil, err
		}
		bias, err := biasGradCUDA(a.In[0], p.NoBias.Value())
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(max(k.scratch, bias.Scratch()),
			func(q *cuda.Queue, c *op.Call) error {
				dy, x, w := c.In[0].Data, c.In[1].Data, c.In[2].Data
				if c.Out[0].Data != nil {
					if err := k.forward(q, c.Out[0].Data, dy, w, nil, c.Scratch); err != nil {
						return err
					}
				}
				if c.Out[1].Data != nil {
					if err := k.backWeight(q, c.Out[1].Data, x, dy, c.Scratch); err != nil {
						return err
					}
				}
				return sumBias(q, c, bias, dy)
			})
	})
}
