//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ShapeArray, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return listCUDA(a.In[0].Shape)
	})
	attach.CUDA(SizeArray, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return listCUDA([]int{a.In[0].Shape.Size()})
	})
}
