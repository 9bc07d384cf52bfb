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

	scalarCUDA(Exponential, isExponential, func(p RateParams) (a, b float64) {
		return p.Lam.Value(), 0
	})
	scalarCUDA(Poisson, isPoisson, func(p RateParams) (a, b float64) { return p.Lam.Value(), 0 })
	scalarCUDA(Gamma, isGamma, func(p GammaParams) (a, b float64) {
		return p.Alpha.Value(), p.Beta.Value()
	})
	scalarCUDA(NegativeBinomial, isNegativeBinomial, func(p NegativeBinomialParams) (a, b float64) {
		return float64(p.K.Value()), p.P.Value()
	})
	scalarCUDA(Dispersed, isDispersed, func(p DispersedParams) (a, b float64) {
		return p.Mu.Value(), p.Alpha.Value()
	})
	scalarCUDA(ExponentialLike, isExponential, func(p RateLikeParams) (a, b float64) {
		return p.Lam.Value(), 0
	})
	scalarCUDA(PoissonLike, isPoisson, func(p RateLikeParams) (a, b float64) {
		return p.Lam.Value(), 0
	})
	scalarCUDA(GammaLike, isGamma, func(p GammaLikeParams) (a, b float64) {
		return p.Alpha.Value(), p.Beta.Value()
	})
	scalarCUDA(NegativeBinomialLike, isNegativeBinomial, func(p NegativeBinomialLikeParams) (a,
		b float64) {
		return float64(p.K.Value()), p.P.Value()
	})
	scalarCUDA(DispersedLike, isDispersed, func(p DispersedLikeParams) (a, b float64) {
		return p.Mu.Value(), p.Alpha.Value()
	})
}

// drawCUDA prepares numbers from shift on, times scale.
func drawCUDA(name string, shift, scale float64, a *op.Args) (*op.Prepared, error) {
	t := a.Out[0].DType
	if !cuda.Serves("random", t) {
		return nil, op.ErrUnsupported
	}
	f, n := cuda.Func("random", name, dtype.Float32), a.Out[0].Shape.Size()
	return attach.OnQueueDrawing(0, func(q *cuda.Queue, c *op.Call) error {
		counter, base := q.Seed(c.Seed.Counter)
		return q.Launch(f, q.Each((n+3)/4), cuda.P(c.Out[0].Data), cuda.I(cuda.Code(t)), cuda.I(n),
			c.Seed.Key, counter, cuda.F(shift), cuda.F(scale), base)
	})
}
