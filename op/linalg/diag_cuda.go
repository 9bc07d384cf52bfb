//go:build cuda

package linalg

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, unpack := range map[op.Handle[BandParams]]bool{ExtractDiag: false, MakeDiag: true} {
		attach.CUDA(h, func(p BandParams, a *op.Args) (*op.Prepared, error) {
			return bandCUDA("diagonal", bandArgs{offset: p.Offset, unpack: attach.B2I(unpack)}, a)
		})
	}
	attach.CUDA(SumLogDiag, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		k := newBatchArgs(a.In[0])
		return attach.CUDAEach(attach.AnyFunc("linalg", "sumlogdiag"), k.count, k,
			func(k batchArgs, c *op.Call) batchArgs {
				k.out[0], k.in[0] = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
				return k
			})
	})
	attach.CUDA(sumLogDiagGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		k := newBatchArgs(a.In[1])
		return attach.CUDAEach(attach.AnyFunc("linalg", "sumlogdiag_grad"), k.count*k.n*k.n, k,
			func(k batchArgs, c *op.Call) batchArgs {
				k.out[0], k.in[0], k.in[1] = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
					attach.AnyOf(c.In[1])
				return k
			})
	})
}
