//go:build cuda

package index

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, name := range map[op.Handle[RavelParams]]string{RavelMultiIndex: "ravel",
		UnravelIndex: "unravel"} {
		attach.CUDA(h, func(p RavelParams, a *op.Args) (*op.Prepared, error) {
			if len(p.Shape) > cuda.Axes {
				return nil, op.ErrUnsupported
			}
			k := placesArgs{n: min(a.In[0].Shape.Size(), a.Out[0].Shape.Size()), axes: len(p.Shape)}
			copy(k.dim[:], p.Shape)
			return placesCUDA(name, k.n, k)
		})
	}
}
