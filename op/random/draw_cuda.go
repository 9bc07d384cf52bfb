//go:build cuda

package random

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Uniform, func(p UniformParams, a *op.Args) (*op.Prepared, error) {
		return drawCUDA("uniform", p.Low, p.High.Value()-p.Low, a)
	})
	attach.CUDA(UniformLike, func(p UniformLikeParams, a *op.Args) (*op.Prepared, error) {
		return drawCUDA("uniform", p.Low, p.High.Value()-p.Low, a)
	})
	attach.CUDA(Normal, func(p NormalParams, a *op.Args) (*op.Prepared, error) {
		return drawCUDA("normal", p.Loc, p.Scale.Value(), a)
	})
	attach.CUDA(NormalLike, func(p NormalLikeParams, a *op.Args) (*op.Prepared, error) {
		return drawCUDA("normal", p.Loc, p.Scale.Value(), a)
	})
}

// drawCUDA prepares numbers from shift on, times scale.
func drawCUDA(name string, shift, scale float64, a *op.Args) (*op.Prepared, error) {
	t := a.Out[0].DType
	if !cuda.Serves("random", t) {
		return nil, op.ErrUnsupported
	}
	f, n := cuda.Func("random", name, dtype.Float32), a.Out[0].Shape.Size()
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each((n+3)/4), cuda.P(c.Out[0].Data), cuda.I(cuda.Code(t)), cuda.I(n), c.Seed.Key, c.Seed.Counter, cuda.F(shift), cuda.F(scale))
	})
}
