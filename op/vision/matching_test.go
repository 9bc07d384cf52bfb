package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestBipartiteMatching(t *testing.T) {
	type P = vision.BipartiteMatchingParams
	x := optest.F([]int{3, 2}, .5, .6, .1, .2, .3, .4)
	rows, cols := []int{3}, []int{2}
	optest.Run(t, vision.BipartiteMatching.Op,
		optest.Case{Name: "high scores", NoDiff: true, Params: P{Threshold: 1e-12},
			In: optest.Ops(x), Want: optest.Ops(optest.F(rows, 1, -1, 0), optest.F(cols, 2, 0)),
			Heads:    optest.Ops(optest.F(rows, 1), optest.F(cols, 1)),
			WantGrad: optest.Ops(optest.F([]int{3, 2}, 0))},
		optest.Case{Name: "low scores", NoDiff: true, Params: P{Threshold: .35, IsAscend: true},
			In: optest.Ops(x), Want: optest.Ops(optest.F(rows, -1, 0, -1), optest.F(cols, 1, -1))},
		optest.Case{Name: "threshold", NoDiff: true, Params: P{Threshold: .4}, In: optest.Ops(x),
			Want: optest.Ops(optest.F(rows, 1, -1, -1), optest.F(cols, -1, 0))},
		optest.Case{Name: "one more than topk", NoDiff: true, Params: P{Threshold: .1,
			TopK: op.Some(1)},
			In:   optest.Ops(optest.F([]int{1, 3, 3}, .9, 0, 0, 0, .8, 0, 0, 0, .7)),
			Want: optest.Ops(optest.F([]int{1, 3}, 0, 1, -1), optest.F([]int{1, 3}, 0, 1, -1))},
		optest.Case{Name: "first of equal", NoDiff: true, Params: P{},
			In:   optest.Ops(optest.F([]int{2, 2, 2}, 1)),
			Want: optest.Ops(optest.F([]int{2, 2}, 0, 1, 0, 1), optest.F([]int{2, 2}, 0, 1, 0, 1))},
		optest.Case{Name: "half", NoDiff: true, Params: P{}, In: optest.Ops(half(x)),
			Want: optest.Ops(half(optest.F(rows, 1, -1, 0)))})
}
