package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/index"
)

func TestScatterReduce(t *testing.T) {
	data := optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	two := ids(dtype.Int32, []int{2, 4}, 0, 1, 1, 1, 1, 0, 2, 2)
	updates := optest.F([]int{4}, 7, 3, -2, 0.5)
	for _, c := range []struct {
		reduction string
		want      []float64
	}{
		{"set", []float64{1, 7, 3, 3, 5, 0.5}},
		{"add", []float64{1, 9, 3, 7, 5, 4.5}},
		{"mul", []float64{1, 14, 3, 12, 5, -6}},
		{"max", []float64{1, 7, 3, 4, 5, 6}},
		{"min", []float64{1, 2, 3, 3, 5, -2}},
	} {
		p := index.ScatterReduceParams{Reduction: c.reduction}
		optest.Run(t, index.ScatterReduceND.Op,
			optest.Case{Name: c.reduction, Params: p, Const: []int{1},
				In:   optest.Ops(data, two, updates),
				Want: optest.Ops(optest.F([]int{2, 3}, c.want...))},
			optest.Case{Name: c.reduction + " int8", Params: p,
				In: optest.Ops(optest.Array(dtype.Int8, []int{2, 3}, 1, 2, 3, 4, 5, 6), two,
					optest.Array(dtype.Int8, []int{4}, 7, 3, -2, 1))})
	}
	optest.Run(t, index.ScatterReduceND.Op,
		optest.Case{Name: "rows", Params: index.ScatterReduceParams{Reduction: "add"},
			Const: []int{1},
			In: optest.Ops(data, ids(dtype.Int64, []int{1, 2}, -1, 1),
				optest.F([]int{2, 3}, 1, 2, 3, 10, 20, 30)),
			Want: optest.Ops(optest.F([]int{2, 3}, 1, 2, 3, 15, 27, 39))})
}
