//go:build cuda

package random_test

import (
	"fmt"
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
}

// TestCUDAShuffle wants the order that the processor draws, for few and many rows.
func TestCUDAShuffle(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 9, 50, 900, 20_000} {
		for key := range uint64(3) {
			optest.Run(t, random.Shuffle.Op, optest.Case{Name: fmt.Sprint(n, " rows"),
				In: []op.Tensor{optest.Range(n, 2)}, Seed: op.Seed{Key: key, Counter: 1 << 33}})
		}
	}
}
