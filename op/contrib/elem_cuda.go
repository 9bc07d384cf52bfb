//go:build cuda

package contrib

import (
	"math"

	"gomx/device/cuda"
	"gomx/dtype"
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
	attach.CUDA(Quadratic, func(p QuadraticParams, a *op.Args) (*op.Prepared, error) {
		k := quadraticArgs{n: a.Out[0].Shape.Size(), a: p.A, b: p.B, c: p.C}
		return attach.CUDAEach(attach.AnyFunc("tensor", "quadratic"), k.n, k,
			func(k quadraticArgs, c *op.Call) quadraticArgs {
				k.out, k.in = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0])
				return k
			})
	})
	attach.CUDA(AllClose, closeCUDA)
	attach.CUDA(GradientMultiplier, attach.CUDAMove[GradientMultiplierParams]())
}

// quadraticArgs and closeArgs are parameters of kernels in tensor.cu.
type (
	quadraticArgs struct {
		out, in attach.Any
		n       int
		a, b, c float64
	}
	closeArgs struct {
		out, a, b     attach.Any
		n, nanDiffers int
		rtol, atol    float64
	}
)

// closeCUDA prepares two kernels: one writes a one, the other a zero if any two elements differ.
func closeCUDA(p AllCloseParams, a *op.Args) (*op.Prepared, error) {
	fixed := closeArgs{n: a.In[0].Shape.Size(), nanDiffers: attach.B2I(p.NotEqualNaN),
		rtol: p.RTol.Value(), atol: p.ATol.Value()}
	one, kind := cuda.Func("fill", "fill", dtype.Unknown), cuda.Code(a.Out[0].DType)
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if err := q.Launch(one, q.Each(1), cuda.P(c.Out[0].Data), cuda.I(kind), cuda.I(1),
			cuda.F(1), 0, 0, 0, 0); err != nil {
			return err
		}
		k := fixed
		k.out, k.a, k.b = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1])
		return cuda.LaunchWith(q, attach.AnyFunc("tensor", "close"), q.Each(k.n), &k)
	})
}
