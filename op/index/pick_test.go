package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func TestPick(t *testing.T) {
	x := optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	optest.Run(t, index.Pick.Op,
		optest.Case{Name: "rows", In: optest.Ops(x, ids(dtype.Int32, []int{2}, 0, 2)),
			Want: optest.Ops(optest.F([]int{2}, 1, 6))},
		optest.Case{Name: "columns", Params: index.PickParams{Axis: op.Some(0)}, Const: []int{1},
			In:   optest.Ops(x, ids(dtype.Float32, []int{3}, 0, 1, 0)),
			Want: optest.Ops(optest.F([]int{3}, 1, 5, 3))},
		optest.Case{Name: "kept", Params: index.PickParams{KeepDims: true},
			In:   optest.Ops(x, ids(dtype.Int32, []int{2}, 0, 2)),
			Want: optest.Ops(optest.F([]int{2, 1}, 1, 6))},
		optest.Case{Name: "index keeps the axis", In: optest.Ops(x, ids(dtype.Int32, []int{2, 1}, 0,
			2)), Want: optest.Ops(optest.F([]int{2}, 1, 6))},
		optest.Case{Name: "clip", In: optest.Ops(x, ids(dtype.Int32, []int{2}, -3, 7)),
			Want: optest.Ops(optest.F([]int{2}, 1, 6))},
		optest.Case{Name: "wrap", Params: index.PickParams{Mode: "wrap"},
			In:   optest.Ops(x, ids(dtype.Int32, []int{2}, -1, 4)),
			Want: optest.Ops(optest.F([]int{2}, 3, 5))},
		optest.Case{Name: "flat", Attrs: map[string]string{"axis": "None"},
			In:   optest.Ops(x, ids(dtype.Int32, []int{1}, 4)),
			Want: optest.Ops(optest.F([]int{1}, 5))})
	optest.Run(t, index.BatchTake.Op, optest.Case{In: optest.Ops(x, ids(dtype.Int32, []int{2}, 0,
		9)), Want: optest.Ops(optest.F([]int{2}, 1, 6))})
}
