package prim

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// trigamma is the derivative of the digamma function, for the second derivatives of gamma and
// gammaln.
var trigamma = op.Declare[op.NoParams]("_trigamma")

func init() {
	trigamma.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the third derivative of the gamma function is " +
			"not provided"},
		Infer: op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Map(loop.Func1{F: psi1}, c.Out[0], c.In[0])
			return nil
		},
	})
}

// psi1 is the trigamma function: by reflection for negative x, by recurrence up to 10, and from
// there by its asymptotic series (Abramowitz and Stegun, 6.4.12).
func psi1(x float64) float64 {
	if x <= 0 {
		if x == math.Floor(x) {
			return math.Inf(1)
		}
		s := math.Sin(math.Pi * x)
		return math.Pi*math.Pi/(s*s) - psi1(1-x)
	}
	y := 0.0
	for ; x < 10; x++ {
		y += 1 / (x * x)
	}
	z := 1 / (x * x)
	return y + 1/x + z/2 + z/x*(1.0/6-z*(1.0/30-z*(1.0/42-z*(1.0/30-z*(5.0/66)))))
}
