package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/index"
)

func TestRavel(t *testing.T) {
	p := index.RavelParams{Shape: []int{3, 4}}
	tuples, flat := ids(dtype.Int64, []int{2, 3}, 0, 1, 2, 3, 0, 1), ids(dtype.Int64, []int{3}, 3,
		4, 9)
	optest.Run(t, index.RavelMultiIndex.Op, optest.Case{Params: p, In: optest.Ops(tuples),
		Want: optest.Ops(flat)})
	optest.Run(t, index.UnravelIndex.Op, optest.Case{Params: p, In: optest.Ops(flat),
		Want: optest.Ops(tuples)})
	// fractions and negative numbers, as MXNet 1.9.1 computes them
	optest.Run(t, index.RavelMultiIndex.Op, optest.Case{
		Params: index.RavelParams{Shape: []int{-1, 4, 4, 4}},
		In: optest.Ops(ids(dtype.Float32, []int{4, 2}, 1.75, -2.5, 0.5, 1.25, 3.5, 2.75, 1.5,
			-1.5)),
		Want: optest.Ops(ids(dtype.Float32, []int{2}, 77, -85))})
}
