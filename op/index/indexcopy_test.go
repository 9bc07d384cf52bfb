package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/index"
)

func TestIndexCopy(t *testing.T) {
	x, y := optest.Range(3, 2), optest.F([]int{2, 2}, 10, 20, 30, 40)
	optest.Run(t, index.IndexCopy.Op,
		optest.Case{In: optest.Ops(x, ids(dtype.Int32, []int{2}, 2, 0), y),
			Want: optest.Ops(optest.F([]int{3, 2}, 30, 40, 2, 3, 10, 20))},
		optest.Case{Name: "twice one place", NoDiff: true,
			In:   optest.Ops(x, ids(dtype.Int32, []int{2}, 1, 1), y),
			Want: optest.Ops(optest.F([]int{3, 2}, 0, 1, 30, 40, 4, 5))})
}

func TestIndexArray(t *testing.T) {
	optest.Run(t, index.IndexArray.Op, optest.Case{In: optest.Ops(optest.Range(1, 2)),
		Want: optest.Ops(optest.Array(dtype.Int64, []int{1, 2, 2}, 0, 0, 0, 1)), NoDiff: true},
		optest.Case{Name: "axis", Params: index.IndexArrayParams{Axes: []int{-1}},
			In:   optest.Ops(optest.Range(1, 2)),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{1, 2, 1}, 0, 1)), NoDiff: true})
}
