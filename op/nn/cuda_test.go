//go:build cuda

package nn_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

// TestCUDALongParts has more elements in a part than a block has threads.
func TestCUDALongParts(t *testing.T) {
	x := optest.Random(1, -1, 1, 2, 3, 19, 17)
	for _, mode := range []string{"instance", "spatial", "channel"} {
		optest.Run(t, nn.L2Normalization.Op, optest.Case{Params: nn.L2NormalizationParams{Mode: mode}, In: []op.Tensor{x}, NoDiff: true})
	}
	optest.Run(t, nn.LeakyReLU.Op, optest.Case{Params: nn.LeakyReLUParams{ActType: "prelu"}, In: []op.Tensor{x, optest.Random(2, 0, 1, 3)}, NoDiff: true})
}
