//go:build cuda

package contrib

import (
	"math"

	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(DivSqrtDim, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		s := a.In[0].Shape
		if len(s) == 0 {
			return nil, op.ErrUnsupported
		}
		return attach.CUDAMap(a, "divs", math.Sqrt(float64(s[len(s)-1])))
	})
	attach.CUDA(GradientMultiplier, attach.CUDAMove[GradientMultiplierParams]())
}
