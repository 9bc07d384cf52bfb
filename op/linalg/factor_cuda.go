//go:build cuda

package linalg

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	squareCUDA(Syevd, "syevd", 4)
	squareCUDA(syevdGrad, "syevd_grad", 4)
	attach.CUDA(Gelqf, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		args.room = 2*args.m*args.n + args.m
		return batchCUDA("gelqf", args, nil)
	})
	attach.CUDA(gelqfGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		args.room = 3*args.m*args.n + 3*args.m*args.m
		return batchCUDA("gelqf_grad", args, nil)
	})
}
