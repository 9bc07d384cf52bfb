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
