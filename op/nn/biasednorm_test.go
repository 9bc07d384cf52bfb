package nn_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// TestBiasedBatchNorm compares the operator with BatchNorm of the sum, in training and inference, with
// the moving averages behind it.
func TestBiasedBatchNorm(t *testing.T) {
	vector := func(seed uint64) op.Tensor { return optest.Random(seed, 0.5, 1, 3) }
	for _, train := range []bool{true, false} {
		x, bias := optest.Random(1, -1, 1, 4, 3, 5), vector(6)
		states := func() []op.Tensor {
			return []op.Tensor{x, vector(2), vector(3), vector(4), vector(5)}
		}
		p := nn.BatchNormParams{NoFixGamma: true, Axis: op.Some(1), Eps: op.Some(1e-3),
			Momentum: op.Some(0.9)}
		r, in := optest.Runner{Train: train}, states()
		sum, err := r.Apply(prim.BroadcastAdd.Op, op.NoParams{}, []op.Tensor{x, {Desc: op.Plain(
			bias.DType, []int{1, 3, 1}), Data: bias.Data}})
		if err != nil {
			t.Fatal(err)
		}
		in[0] = sum[0]
		want, err := r.Apply(nn.BatchNorm.Op, p, in)
		if err != nil {
			t.Fatal(err)
		}
		after := append(append([]op.Tensor{x}, in[1:]...), bias)
		optest.Run(t, nn.BiasedBatchNorm.Op, optest.Case{Name: map[bool]string{true: "training",
			false: "inference"}[train], Params: p, Train: train, In: append(states(), bias),
			Want: want[:1], After: after, NoDiff: true,
			Tol: optest.Tolerance{Abs: 1e-5, Rel: 1e-5}})
	}
}
