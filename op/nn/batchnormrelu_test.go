package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

// TestBatchNormReLU has channels that stay above zero, below it, and on both sides, all of them far
// enough away for differences.
func TestBatchNormReLU(t *testing.T) {
	type P = nn.BatchNormParams
	x := values(dtype.Shape{4, 3, 1, 1}, -3, 1, 7, -1, 4, 5, 1, 2, 1, 3, 5, 3)
	gamma, beta, mean, variance := vec(2, 1, 1), vec(9, -9, 0.2), vec(0, 1, 4), vec(1, 4, 5)
	in := []op.Tensor{x, gamma, beta, mean, variance}
	optest.Run(t, nn.BatchNormReLU.Op,
		optest.Case{Name: "training", Train: true, Params: P{NoFixGamma: true}, In: in,
			Const: []int{3, 4}, Want: rectifiedNorm(x, gamma, beta, op.Tensor{}, 1e-3),
			After: []op.Tensor{x, gamma, beta, vec(0, 1.2, 4), vec(1.4, 3.85, 5)}},
		optest.Case{Name: "fixed gamma", Train: true, Params: P{}, In: in, Const: []int{3, 4},
			Want: rectifiedNorm(x, vec(1, 1, 1), beta, op.Tensor{}, 1e-3)},
		optest.Case{Name: "last axis", Train: true, Params: P{NoFixGamma: true, Axis: op.Some(-1)},
			In: []op.Tensor{reshaped(x, 4, 3), gamma, beta, mean, variance}, Const: []int{3, 4}},
		optest.Case{Name: "inference", Params: P{NoFixGamma: true, Eps: op.Some(1e-9)}, In: in,
			Const: []int{3, 4},
			Want: []op.Tensor{values(dtype.Shape{4, 3, 1, 1}, 3, 0, 0.2+3/sqrt5, 7, 0, 0.2+1/sqrt5,
				11, 0, 0, 15, 0, 0)}, After: []op.Tensor{{}, {}, {}, mean, variance}},
	)
}

// reshaped views x in another shape.
func reshaped(x op.Tensor, shape ...int) op.Tensor {
	x.Shape = shape
	return x
}
