package prim_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestTile(t *testing.T) {
	x := optest.F([]int{2, 2}, 1, 2, 3, 4)
	optest.Run(t, prim.Tile.Op,
		optest.Case{Name: "fewer", Params: prim.TileParams{Reps: []int{2}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 4}, 1, 2, 1, 2, 3, 4, 3, 4))},
		optest.Case{Name: "both", Params: prim.TileParams{Reps: []int{2, 1}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{4, 2}, 1, 2, 3, 4, 1, 2, 3, 4))},
		optest.Case{Name: "more", Params: prim.TileParams{Reps: []int{2, 1, 1}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 2, 2}, 1, 2, 3, 4, 1, 2, 3, 4))},
		optest.Case{Name: "zero", Params: prim.TileParams{Reps: []int{0, 1}}, In: optest.Ops(x)})
	optest.Run(t, prim.Repeat.Op,
		optest.Case{Name: "flat", Params: prim.RepeatParams{Repeats: 2}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{8}, 1, 1, 2, 2, 3, 3, 4, 4))},
		optest.Case{Name: "axis", Params: prim.RepeatParams{Repeats: 2, Axis: op.Some(0)},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{4, 2}, 1, 2, 1, 2, 3, 4, 3, 4))},
		optest.Case{Name: "last axis", Params: prim.RepeatParams{Repeats: 3, Axis: op.Some(-1)},
			In: optest.Ops(x)})
	optest.Run(t, prim.Reverse.Op,
		optest.Case{Name: "one", Params: prim.ReverseParams{Axis: []int{1}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 2}, 2, 1, 4, 3))},
		optest.Case{Name: "twice", Params: prim.ReverseParams{Axis: []int{1, 0, -1}},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, 3, 4, 1, 2))},
		optest.Case{Name: "both", Params: prim.ReverseParams{Axis: []int{0, -1}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 2}, 4, 3, 2, 1))})
}
