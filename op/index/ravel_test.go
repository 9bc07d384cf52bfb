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
}
