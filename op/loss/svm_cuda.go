//go:build cuda

package loss

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(SVMOutput, attach.CUDAMove[SVMOutputParams]())
	attach.CUDA(SVMOutputGrad, func(p SVMOutputParams, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok {
			return nil, op.ErrUnsupported
		}
		k := hingeArgs{samples: a.In[1].Shape.Size(), classes: a.In[0].Shape[len(a.In[0].Shape)-1],
			linear: attach.B2I(p.UseLinear),
			margin: p.Margin.Value(), scale: p.RegularizationCoefficient.Value()}
		return attach.CUDAEach(cuda.Func("loss", "hinge_grad", t), k.samples*k.classes, k,
			func(k hingeArgs, c *op.Call) hingeArgs {
				k.out, k.x, k.label = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
