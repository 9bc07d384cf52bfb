package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/index"
)

func TestGatherAndScatter(t *testing.T) {
	x := optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	optest.Run(t, index.GatherND.Op,
		optest.Case{Name: "elements", In: optest.Ops(x, ids(dtype.Int32, []int{2, 3}, 0, 1, 1, 2, 0,
			0)), Want: optest.Ops(optest.F([]int{3}, 3, 4, 4))},
		optest.Case{Name: "fractions", NoDiff: true,
			In:   optest.Ops(x, ids(dtype.Float32, []int{1, 2}, -0.5, 0.5)),
			Want: optest.Ops(optest.F([]int{2, 3}, 4, 5, 6, 1, 2, 3))},
		optest.Case{Name: "rows", Const: []int{1},
			In:   optest.Ops(x, ids(dtype.Float32, []int{1, 1, 2}, -1, 0)),
			Want: optest.Ops(optest.F([]int{1, 2, 3}, 4, 5, 6, 1, 2, 3))})
	optest.Run(t, index.ScatterND.Op,
		optest.Case{Name: "elements", Params: index.ScatterNDParams{Shape: []int{2, 3}},
			In:   optest.Ops(optest.F([]int{2}, 7, 8), ids(dtype.Int32, []int{2, 2}, 0, 1, 2, 0)),
			Want: optest.Ops(optest.F([]int{2, 3}, 0, 0, 7, 8, 0, 0))},
		optest.Case{Name: "rows", Params: index.ScatterNDParams{Shape: []int{2, 2}},
			In:   optest.Ops(optest.F([]int{1, 2}, 7, 8), ids(dtype.Int32, []int{1, 1}, 1)),
			Want: optest.Ops(optest.F([]int{2, 2}, 0, 0, 7, 8))})
	optest.Run(t, index.ScatterSetND.Op,
		optest.Case{Params: index.ScatterNDParams{Shape: []int{2, 3}},
			In:   optest.Ops(x, optest.F([]int{1}, 9), ids(dtype.Int32, []int{2, 1}, 1, 1)),
			Want: optest.Ops(optest.F([]int{2, 3}, 1, 2, 3, 4, 9, 6))})
}
