//go:build cuda

package loss

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(SparseReg, sparseCUDA)
	attach.CUDA(SparseRegGrad, func(p SparseRegParams, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok {
			return nil, op.ErrUnsupported
		}
		k := sparseArgs{samples: a.In[0].Shape[0], units: a.In[1].Shape.Size(),
			target: p.SparsenessTarget.Value(), penalty: p.Penalty.Value()}
		return attach.CUDAEach(cuda.Func("loss", "sparse_grad", t), k.samples*k.units, k,
			func(k sparseArgs, c *op.Call) sparseArgs {
				k.out, k.x, k.average = c.Out[0].Data, c.In[0].Data, c.In[1].Data
				return k
			})
	})
}
