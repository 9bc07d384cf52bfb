//go:build cuda

package linalg

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	squareCUDA(potrfGrad, "potrf_grad", 3)
	squareCUDA(potriGrad, "potri_grad", 3)
	for h, k := range map[op.Handle[CholeskyParams]]struct {
		name     string
		matrices int
	}{Potrf: {"potrf", 1}, Potri: {"potri", 3}} {
		attach.CUDA(h, func(p CholeskyParams, a *op.Args) (*op.Prepared, error) {
			args := newBatchArgs(a.In[0])
			args.upper = attach.B2I(p.Upper)
			args.room = k.matrices*args.n*args.n + 2*args.n
			return batchCUDA(k.name, args, nil)
		})
	}
}
