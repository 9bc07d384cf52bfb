//go:build cuda

package vision

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(DeformablePSROIPooling, func(p DeformablePSROIPoolingParams, a *op.Args) (
		*op.Prepared, error) {
		k, err := p.movedCUDA(a.In[0], a.In[1].Shape[0], a.In[2:])
		if err != nil {
			return nil, err
		}
		return attach.CUDAEach(partsFunc("moved_psroi", a.In[0].DType), a.Out[0].Shape.Size(), k,
			func(k partsArgs, c *op.Call) partsArgs {
				k.out, k.in, k.rois = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				if !p.NoTrans {
					k.trans = c.In[2].Data
				}
				return k
			})
	})
	attach.CUDA(deformablePSROIGrad, deformablePSROIGradCUDA)
}

// movedCUDA returns the arguments of kernels for parts that trans moves.
func (p DeformablePSROIPoolingParams) movedCUDA(data op.Desc, rows int, trans []op.Desc) (partsArgs,
	error) {
	k, err := p.sensitive().partsCUDA(data, rows)
	k.parts, k.samples, k.std = p.parts(), p.SamplePerPart, narrow[float64](p.TransStd)
	if !p.NoTrans {
		k.classes = trans[0].Shape[1] / 2
	}
	return k, err
}

func deformablePSROIGradCUDA(p DeformablePSROIPoolingParams, a *op.Args) (*op.Prepared, error) {
	k, err := p.movedCUDA(a.In[1], a.In[2].Shape[0], a.In[3:])
	if err != nil {
		return nil, err
	}
	data, trans := partsFunc("moved_psroi_grad", a.In[1].DType),
		partsFunc("moved_psroi_trans", a.In[1].DType)
	elements, shifts := a.Out[0].Shape.Size(), a.Out[len(a.Out)-1].Shape.Size()
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		k := k
		k.in, k.data, k.rois = c.In[0].Data, c.In[1].Data, c.In[2].Data
		if !p.NoTrans {
			k.trans = c.In[3].Data
		}
		if k.out = c.Out[0].Data; k.out != nil {
			if err := cuda.LaunchWith(q, data, q.Each(elements), &k); err != nil {
				return err
			}
		}
		if p.NoTrans || c.Out[1].Data == nil {
			return nil
		}
		k.out = c.Out[1].Data
		return cuda.LaunchWith(q, trans, q.Each(shifts), &k)
	})
}
