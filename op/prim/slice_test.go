package prim_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestSlice(t *testing.T) {
	x := optest.Range(3, 4)
	run := func(name string, attrs map[string]string, shape []int, want ...float64) {
		optest.Run(t, prim.Slice.Op, optest.Case{Name: name, Attrs: attrs, In: optest.Ops(x),
			Want: optest.Ops(optest.F(shape, want...))})
	}
	run("window", map[string]string{"begin": "(1, 0)", "end": "(3, 2)"}, []int{2, 2}, 4, 5, 8, 9)
	run("None", map[string]string{"begin": "(None, 1)", "end": "(None, -1)"}, []int{3, 2}, 1, 2, 5,
		6, 9, 10)
	run("first axes only", map[string]string{"begin": "(-2,)", "end": "(-1,)"}, []int{1, 4}, 4, 5,
		6, 7)
	run("steps", map[string]string{"begin": "(0, 3)", "end": "(3, 0)", "step": "(2, -2)"},
		[]int{2, 2}, 3, 1, 11, 9)
	run("backwards", map[string]string{"begin": "(None, None)", "end": "(1, None)",
		"step": "(1, -1)"}, []int{1, 4}, 3, 2, 1, 0)
	run("beyond the end", map[string]string{"begin": "(2,)", "end": "(100,)"}, []int{1, 4}, 8, 9,
		10, 11)
	optest.Run(t, prim.SliceAxis.Op,
		optest.Case{Attrs: map[string]string{"axis": "1", "begin": "-3", "end": "None"},
			In: optest.Ops(optest.Range(1, 4)), Want: optest.Ops(optest.F([]int{1, 3}, 1, 2, 3))},
		optest.Case{Attrs: map[string]string{"axis": "-1", "begin": "0", "end": "-1"},
			In: optest.Ops(optest.Range(1, 4)), Want: optest.Ops(optest.F([]int{1, 3}, 0, 1, 2))})
	optest.Run(t, prim.SliceLike.Op, optest.Case{In: optest.Ops(x, optest.Range(2, 2)),
		Want: optest.Ops(optest.F([]int{2, 2}, 0, 1, 4, 5))},
		optest.Case{Name: "more axes", Params: prim.SliceLikeParams{Axes: []int{-1}},
			In:   optest.Ops(x, optest.Range(7, 1, 2)),
			Want: optest.Ops(optest.F([]int{3, 1}, 0, 4, 8))},
		optest.Case{Name: "axis", Params: prim.SliceLikeParams{Axes: []int{-1}},
			In: optest.Ops(x, optest.Range(7, 1)), Want: optest.Ops(optest.F([]int{3, 1}, 0, 4,
				8))})
}

func TestSliceAssign(t *testing.T) {
	x, attrs := optest.Range(2, 3), map[string]string{"begin": "(0, 1)", "end": "(2, 3)"}
	optest.Run(t, prim.SliceAssign.Op, optest.Case{Attrs: attrs,
		In:   optest.Ops(x, optest.F([]int{2, 2}, 10, 20, 30, 40)),
		Want: optest.Ops(optest.F([]int{2, 3}, 0, 10, 20, 3, 30, 40))})
	optest.Run(t, prim.SliceAssignScalar.Op, optest.Case{Attrs: map[string]string{"begin": "(0, 1)",
		"end": "(2, 3)", "scalar": "2.5"},
		In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 3}, 0, 2.5, 2.5, 3, 2.5, 2.5))})
}
