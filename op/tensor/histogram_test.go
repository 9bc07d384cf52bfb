package tensor_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/tensor"
)

func TestHistogram(t *testing.T) {
	x := optest.F([]int{6}, 1, 2, 3, 4, 5, 0)
	optest.Run(t, tensor.Histogram.Op,
		optest.Case{Name: "equal bins", Params: tensor.HistogramParams{BinCnt: op.Some(2),
			Range: []float64{1, 4}}, NoDiff: true, In: optest.Ops(x),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{2}, 2, 2), optest.F([]int{3}, 1, 2.5,
				4))}, optest.Case{Name: "given edges", NoDiff: true,
			In: optest.Ops(x, optest.F([]int{3}, 1, 2, 4)),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{2}, 1, 3), optest.F([]int{3}, 1, 2,
				4))})
}
