//go:build cuda

package tensor_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/tensor"
)

// TestCUDALong has more elements than a block has threads.
func TestCUDALong(t *testing.T) {
	x := optest.Random(1, -1, 1, 3, 999)
	for _, p := range []tensor.CumSumParams{{}, {Axis: op.Some(0)}, {Axis: op.Some(1)}} {
		optest.Run(t, tensor.CumSum.Op, optest.Case{Params: p, In: []op.Tensor{x}, NoDiff: true,
			Tol: optest.Tolerance{Abs: 1e-4, Rel: 1e-4}})
	}
	optest.Run(t, tensor.Histogram.Op, optest.Case{Params: tensor.HistogramParams{BinCnt: op.Some(
		13), Range: []float64{-0.9, 0.7}}, In: []op.Tensor{x}, NoDiff: true})
}
