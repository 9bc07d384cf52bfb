//go:build cuda

package loss_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
)

// TestCUDALongSequences has more steps and labels than the other tests, and more classes than a
// block has threads.
func TestCUDALongSequences(t *testing.T) {
	label := optest.Random(2, 1, 6.99, 3, 12)
	for i, v := range op.Slice[float32](label) {
		op.Slice[float32](label)[i] = float32(int(v))
	}
	optest.Run(t, loss.CTCLoss.Op, optest.Case{In: []op.Tensor{optest.Random(1, -2, 2, 40, 3, 7),
		label}, Const: []int{1}, NoDiff: true})
	optest.Run(t, loss.SoftmaxCrossEntropy.Op,
		optest.Case{In: []op.Tensor{optest.Random(3, -2, 2, 5, 700), optest.Array(dtype.Float32,
			[]int{5}, 0, 699, 300, 12, 1)}, Const: []int{1}, NoDiff: true})
}
