package prim_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestClip(t *testing.T) {
	one := prim.ClipParams{AMin: -1, AMax: 1}
	optest.Run(t, prim.Clip.Op,
		optest.Case{Params: one, In: optest.Ops(optest.F([]int{3}, 1.5, -2.5, 0.5)),
			Want: optest.Ops(optest.F([]int{3}, 1, -1, 0.5))},
		optest.Case{Name: "NaN stays", Params: one, NoDiff: true,
			In: optest.Ops(optest.F([]int{1}, nan)), Want: optest.Ops(optest.F([]int{1}, nan))},
		optest.Case{Name: "ends", Params: one, NoDiff: true,
			In: optest.Ops(optest.F([]int{3}, 1, -1, 2)), Heads: optest.Ops(optest.F([]int{3}, 5)),
			WantGrad: optest.Ops(optest.F([]int{3}, 5, 5, 0))},
		optest.Case{Name: "integers", Params: prim.ClipParams{AMin: -1.5, AMax: 1.5},
			In:   optest.Ops(optest.Array(dtype.Int32, []int{3}, 1, -2, 7)),
			Want: optest.Ops(optest.Array(dtype.Int32, []int{3}, 1, -1, 1))})
}
