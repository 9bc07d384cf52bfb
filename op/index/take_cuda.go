//go:build cuda

package index

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Take, func(p TakeParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.lookup(a.In[0].Shape, a.In[1])
		if err != nil {
			return nil, err
		}
		return gatherCUDA("take", k, a.Out[0], 0, 1)
	})
	attach.CUDA(takeGrad, func(p TakeParams, a *op.Args) (*op.Prepared, error) {
		k, err := p.lookup(a.Out[0].Shape, a.In[1])
		if err != nil {
			return nil, err
		}
		return sumLookupCUDA(k, a.Out[0])
	})
}
