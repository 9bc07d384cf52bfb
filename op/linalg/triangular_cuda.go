//go:build cuda

package linalg

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, name := range map[op.Handle[TriangularParams]]string{Trmm: "trmm", Trsm: "trsm"} {
		attach.CUDA(h, func(p TriangularParams, a *op.Args) (*op.Prepared, error) {
			args, side := newBatchArgs(a.In[1]), a.In[0].Shape[len(a.In[0].Shape)-1]
			args.room = side*side + 2*args.m*args.n
			args.upper, args.trans, args.right, args.alpha = attach.B2I(p.Upper),
				attach.B2I(p.Transpose), attach.B2I(p.RightSide), p.Alpha.Value()
			return batchCUDA(name, args, nil)
		})
	}
}
