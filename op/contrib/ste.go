package contrib

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// Straight-through estimators: step functions whose gradient is that of the identity.
var (
	RoundSTE = op.Declare[op.NoParams]("_contrib_round_ste")
	SignSTE  = op.Declare[op.NoParams]("_contrib_sign_ste")
)

func init() {
	defineSTE(RoundSTE, "ContribRoundSte rounds to the nearest integer, halves away from zero",
		loop.Func1{F: math.Round, I: func(x int64) int64 { return x }})
	defineSTE(SignSTE, "ContribSignSte computes -1, 0 or 1 by the sign of x",
		loop.Func1{F: sign[float64], I: sign[int64]})
}

// sign is -1, 0 or 1, and 0 for NaN.
func sign[T float64 | int64](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func defineSTE(h op.Handle[op.NoParams], doc string, f loop.Func1) {
	h.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: doc + ", and passes the gradient unchanged: a straight-through estimator " +
				"(Bengio et al. 2013) for training with quantized numbers.",
			Aliases:    []string{"_sparse_" + h.Name},
			Inplace:    [][2]int{{0, 0}},
			Pointwise:  true,
			Idempotent: true,
		},
		Infer: op.SameShape[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{g.Head(0)}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Map(f, c.Out[0], c.In[0])
			return nil
		},
		Storage: op.StoreLike[op.NoParams],
		Sparse:  func(_ op.NoParams, c *op.Call) error { return loop.MapStored(f, c) },

		GradStorage: op.GradLikeHead[op.NoParams],
	})
}
