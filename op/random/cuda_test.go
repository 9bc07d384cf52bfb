//go:build cuda

package random_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/random"
)

// TestCUDAMany draws more numbers than the other tests, so that every branch of the generators is
// taken.
func TestCUDAMany(t *testing.T) {
	seed := op.Seed{Key: 3, Counter: 1 << 33}
	for _, m := range []float64{0.3, 7, 40, 1000} {
		optest.Run(t, random.Poisson.Op, optest.Case{Params: random.RateParams{Lam: op.Some(m),
			Shape: []int{700}}, Seed: seed})
		optest.Run(t, random.Gamma.Op, optest.Case{Params: random.GammaParams{Alpha: op.Some(m),
			Beta: op.Some(2.0), Shape: []int{700}}, Seed: seed})
	}
	optest.Run(t, random.Shuffle.Op, optest.Case{In: []op.Tensor{optest.Random(1, 0, 1, 900, 2)},
		Seed: seed})
}
