package index_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func TestSort(t *testing.T) {
	x := optest.F([]int{2, 3}, 3, 1, 2, 4, 6, 5)
	i32 := func(shape []int, v ...float64) op.Tensor {
		return optest.Array(dtype.Int32, shape, v...)
	}
	optest.Run(t, index.Sort.Op,
		optest.Case{Name: "rows", In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 3}, 1, 2, 3,
			4, 5, 6), i32([]int{2, 3}, 1, 2, 0, 0, 2, 1))},
		optest.Case{Name: "descending columns", Params: index.SortParams{Axis: op.Some(0),
			Descend: true}, In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 3}, 4, 6, 5, 3, 1,
			2))},
		optest.Case{Name: "flat", Attrs: map[string]string{"axis": "None"}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{6}, 1, 2, 3, 4, 5, 6))},
		optest.Case{Name: "NaN last", NoDiff: true, In: optest.Ops(optest.F([]int{3}, math.NaN(), 2,
			1)), Want: optest.Ops(optest.F([]int{3}, 1, 2, math.NaN()))})
	optest.Run(t, index.ArgSort.Op,
		optest.Case{In: optest.Ops(x), NoDiff: true, Want: optest.Ops(optest.F([]int{2, 3}, 1, 2, 0,
			0, 2, 1))},
		optest.Case{Name: "stable", Params: index.ArgSortParams{Descend: true, DType: dtype.Int64},
			In:   optest.Ops(optest.F([]int{3}, 1, 2, 2)),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{3}, 1, 2, 0))})
}

func TestTopK(t *testing.T) {
	x := optest.F([]int{2, 3}, 3, 1, 2, 4, 6, 5)
	two := func(typ string) index.TopKParams { return index.TopKParams{K: op.Some(2), RetTyp: typ} }
	ids, values := optest.F([]int{2, 2}, 0, 2, 1, 2), optest.F([]int{2, 2}, 3, 2, 6, 5)
	optest.Run(t, index.TopK.Op,
		optest.Case{Name: "indices", Params: two("indices"), NoDiff: true, In: optest.Ops(x),
			Want: optest.Ops(ids)},
		optest.Case{Name: "value", Params: two("value"), In: optest.Ops(x), Want: optest.Ops(values,
			ids)}, optest.Case{Name: "both", Params: two("both"), NoDiff: true, In: optest.Ops(x),
			Want:     optest.Ops(values, ids),
			Heads:    optest.Ops(optest.F([]int{2, 2}, 1, 2, 3, 4)),
			WantGrad: optest.Ops(optest.F([]int{2, 3}, 1, 0, 2, 0, 3, 4))},
		optest.Case{Name: "mask", Params: two("mask"), In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 3}, 1, 0, 1, 0, 1, 1))},
		optest.Case{Name: "smallest", Params: index.TopKParams{Axis: op.Some(0), IsAscend: true,
			RetTyp: "value"}, In: optest.Ops(x), Want: optest.Ops(optest.F([]int{1, 3}, 3, 1, 2))},
		optest.Case{Name: "more than there are", Params: index.TopKParams{K: op.Some(9),
			RetTyp: "value"}, In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 3}, 3, 2, 1, 6,
			5, 4))})
	// with equal elements, both zeros, infinities and NaN
	long := optest.Random(1, -9, 9, 2, 203, 3)
	list := op.Slice[float32](long)
	for i := range list {
		list[i] = float32(math.Round(float64(list[i])))
	}
	list[40], list[41], list[300], list[301], list[900] = float32(math.NaN()), float32(math.NaN()),
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1))
	for _, k := range []int{1, 5, 25, 26, 203} {
		for _, ascend := range []bool{false, true} {
			for _, typ := range []string{"both", "mask", "indices"} {
				optest.Run(t, index.TopK.Op, optest.Case{Name: fmt.Sprintf("long %d %v %s", k,
					ascend, typ), NoDiff: true, In: optest.Ops(long),
					Params: index.TopKParams{Axis: op.Some(1), K: op.Some(k), IsAscend: ascend,
						RetTyp: typ}})
			}
		}
	}
	if got := index.TopK.NumVisible(two("value")); got != 1 {
		t.Errorf("visible outputs with ret_typ value: got %d, want 1", got)
	}
}
