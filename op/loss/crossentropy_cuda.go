//go:build cuda

package loss

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(SoftmaxCrossEntropy, entropyCUDA)
	attach.CUDA(SoftmaxCrossEntropyGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		t, ok := attach.OneFloat(a)
		if !ok {
			return nil, op.ErrUnsupported
		}
		k := entropyArgs{rows: a.In[1].Shape[0], classes: a.In[1].Shape[1]}
		return attach.CUDABlocks(cuda.Func("loss", "entropy_grad", t), k.rows, k.classes, k,
			func(k entropyArgs, c *op.Call) entropyArgs {
				k.out, k.head, k.x, k.label = c.Out[0].Data, c.In[0].Data, c.In[1].Data,
					c.In[2].Data
				return k
			})
	})
}
