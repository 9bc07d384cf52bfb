//go:build cuda

package nn_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// TestCUDALongParts has more elements in a part than a block has threads.
func TestCUDALongParts(t *testing.T) {
	x := optest.Random(1, -1, 1, 2, 3, 19, 17)
	for _, mode := range []string{"instance", "spatial", "channel"} {
		optest.Run(t, nn.L2Normalization.Op,
			optest.Case{Params: nn.L2NormalizationParams{Mode: mode}, In: []op.Tensor{x},
				NoDiff: true})
	}
	optest.Run(t, nn.LeakyReLU.Op, optest.Case{Params: nn.LeakyReLUParams{ActType: "prelu"},
		In: []op.Tensor{x, optest.Random(2, 0, 1, 3)}, NoDiff: true})
}

// TestCUDALibraryDeclines pools numbers that the imitated cuDNN declines when it is asked, and
// normalizes over what it takes in one mode only.
func TestCUDALibraryDeclines(t *testing.T) {
	x := optest.New(dtype.BFloat16, 2, 3, 7, 5)
	loop.Generate(x, func(i int) float64 { return float64(i*37%101) / 8 })
	for _, kind := range []string{"max", "avg"} {
		p := nn.PoolingParams{Kernel: []int{3, 2}, Stride: []int{2, 1}, Pad: []int{1, 1},
			PoolType: kind}
		optest.Run(t, nn.Pooling.Op, optest.Case{Name: kind, Params: p, In: []op.Tensor{x},
			NoDiff: true})
	}
	rows, vector := optest.Random(1, -1, 1, 70000, 2),
		func(seed uint64) op.Tensor { return optest.Random(seed, 0.5, 1, 2) }
	optest.Run(t, nn.BatchNorm.Op, optest.Case{Name: "many rows", Train: true,
		Params: nn.BatchNormParams{NoFixGamma: true},
		In:     []op.Tensor{rows, vector(2), vector(3), vector(4), vector(5)}, Const: []int{3, 4},
		NoDiff: true})
}

// TestCUDAColumnsOfRows has layers whose parameters' gradients add columns, in one chunk and in
// several.
func TestCUDAColumnsOfRows(t *testing.T) {
	for _, shape := range [][]int{{3, 17}, {300, 40}, {7, 30, 65}} {
		n := shape[len(shape)-1]
		optest.Run(t, nn.LayerNorm.Op, optest.Case{In: []op.Tensor{
			optest.Random(1, -1, 1, shape...), optest.Random(2, 0.5, 1, n),
			optest.Random(3, -1, 1, n)}, NoDiff: true})
	}
}
