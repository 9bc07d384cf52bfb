package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/index"
)

func TestTake(t *testing.T) {
	x := optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	optest.Run(t, index.Take.Op,
		optest.Case{Name: "rows", Const: []int{1}, In: optest.Ops(x, ids(dtype.Float32, []int{2}, 1,
			1)), Want: optest.Ops(optest.F([]int{2, 3}, 4, 5, 6, 4, 5, 6))},
		optest.Case{Name: "columns", Params: index.TakeParams{Axis: -1},
			In:   optest.Ops(x, ids(dtype.Int32, []int{1, 2}, 2, 0)),
			Want: optest.Ops(optest.F([]int{2, 1, 2}, 3, 1, 6, 4))},
		optest.Case{Name: "clip", Params: index.TakeParams{Axis: 1},
			In:   optest.Ops(x, ids(dtype.Int32, []int{2}, 9, -9)),
			Want: optest.Ops(optest.F([]int{2, 2}, 3, 1, 6, 4))},
		optest.Case{Name: "wrap", Params: index.TakeParams{Axis: 1, Mode: "wrap"},
			In:   optest.Ops(x, ids(dtype.Int32, []int{3}, 3, -1, -4)),
			Want: optest.Ops(optest.F([]int{2, 3}, 1, 3, 3, 4, 6, 6))},
		optest.Case{Name: "bytes", In: optest.Ops(optest.Array(dtype.Uint8, []int{2}, 7, 8),
			ids(dtype.Int32, []int{1}, 1)), Want: optest.Ops(optest.Array(dtype.Uint8, []int{1},
			8))})
	types := []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Uint8, dtype.Int8,
		dtype.Int32, dtype.Int64}
	for _, typ := range types {
		data := optest.Array(typ, []int{2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		for _, by := range types {
			for axis := range 3 {
				for _, mode := range []string{"clip", "wrap"} {
					optest.Run(t, index.Take.Op, optest.Case{NoDiff: true,
						Name:   typ.String() + " by " + by.String() + " " + mode,
						Params: index.TakeParams{Axis: axis, Mode: mode},
						In:     optest.Ops(data, ids(by, []int{5}, 1, 0, 3, 5, 1))})
				}
			}
		}
	}
	optest.Run(t, index.Take.Op, optest.Case{Name: "before the first", NoDiff: true,
		Params: index.TakeParams{Axis: 1, Mode: "wrap"},
		In:     optest.Ops(x, ids(dtype.Int64, []int{4}, -1, -3, -7, 1<<40))})
}
