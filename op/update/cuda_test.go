//go:build cuda

package update_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/update"
)

// TestCUDALargeLayers sums squares in several chunks.
func TestCUDALargeLayers(t *testing.T) {
	big := func(seed uint64, low float64) op.Tensor { return optest.Random(seed, low, 1, 150, 131) }
	optest.Run(t, update.MultiLambUpdate.Op, optest.Case{In: []op.Tensor{big(1, -1), big(2, -1),
		big(3, -1), big(4, 0.1)},
		Params: update.MultiLambUpdateParams{LearningRates: []float64{0.1}, WDs: []float64{0.01},
			StepCount: []int{3}, NumTensors: 1}})
	optest.Run(t, update.MultiSumSq.Op, optest.Case{In: []op.Tensor{big(1, -1),
		optest.Random(5, -1, 1, 3)}})
}

// TestCUDAManyWeights updates more weights than one launch treats, of sizes around the part of a
// block.
func TestCUDAManyWeights(t *testing.T) {
	const n = 37
	var plain, momentum []op.Tensor
	var rates, decays []float64
	for i := range n {
		size, seed := 1+i*29, uint64(10*i)
		if i%7 == 3 {
			size = 2040 + 2*i
		}
		w, g := optest.Random(seed, -1, 1, size), optest.Random(seed+1, -1, 1, size)
		plain = append(plain, w, g)
		momentum = append(momentum, w, g, optest.Random(seed+2, -1, 1, size))
		rates, decays = append(rates, 0.01*float64(i)), append(decays, 0.001*float64(n-i))
	}
	optest.Run(t, update.MultiSGDUpdate.Op, optest.Case{In: plain, NoDiff: true,
		Params: update.MultiSGDUpdateParams{LRs: rates, WDs: decays, NumWeights: n}})
	optest.Run(t, update.MultiSGDMomUpdate.Op, optest.Case{In: momentum, NoDiff: true,
		Params: update.MultiSGDMomUpdateParams{LRs: rates, WDs: decays, Momentum: 0.9,
			NumWeights: n}})
}
