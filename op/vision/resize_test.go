package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestBilinearResize2D(t *testing.T) {
	type P = vision.BilinearResize2DParams
	x := optest.F([]int{1, 1, 2, 2}, 1, 2, 3, 5)
	like := optest.Array(dtype.Float32, []int{2, 1, 5, 3}, 0)
	optest.Run(t, vision.BilinearResize2D.Op,
		optest.Case{Name: "corners aligned", Params: P{Height: 3, Width: 3}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1, 3, 3}, 1, 1.5, 2, 2, 2.75, 3.5, 3, 4, 5))},
		optest.Case{Name: "borders aligned", Params: P{Height: 3, Width: 4, NoAlignCorners: true},
			In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1, 3, 4}, 1, 1.25, 1.75, 2, 2, 2.375, 3.125, 3.5, 3,
				3.5, 4.5, 5))},
		optest.Case{Name: "unchanged", Params: P{Height: 2, Width: 2, NoAlignCorners: true},
			In: optest.Ops(x), Want: optest.Ops(x)},
		optest.Case{Name: "one element", In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1, 1, 1}, 1))},
		optest.Case{Name: "like another", Params: P{Mode: "like"},
			In: optest.Ops(random(1, 2, 2, 3, 4), like), Const: []int{1}},
		optest.Case{Name: "several", Params: P{Height: 7, Width: 3},
			In: optest.Ops(random(1, 2, 2, 4, 5))},
		optest.Case{Name: "scaled", Params: P{Mode: "odd_scale", ScaleHeight: op.Some(2.),
			ScaleWidth: op.Some(1.5), NoAlignCorners: true}, In: optest.Ops(random(1, 1, 2, 4, 5))})
	runHidden(t, "_backward_contrib_BilinearResize2D", "height=3; width=4", random(1, 2, 2, 3, 4),
		random(2, 2, 2, 5, 5))
	runHidden(t, "_backward_contrib_BilinearResize2D", "mode=like", random(1, 2, 2, 3, 4),
		random(2, 2, 2, 5, 5))
}

func TestBilinearResize2DSizes(t *testing.T) {
	cases := map[string]dtype.Shape{
		"scale_height=1.5; scale_width=0.5":                  {1, 1, 7, 3},
		"mode=odd_scale; scale_height=1.5; scale_width=0.5":  {1, 1, 7, 3},
		"mode=odd_scale; scale_height=2; scale_width=2":      {1, 1, 9, 12},
		"mode=to_even_down":                                  {1, 1, 4, 6},
		"mode=to_even_up":                                    {1, 1, 6, 6},
		"mode=to_odd_down":                                   {1, 1, 5, 5},
		"mode=to_odd_up":                                     {1, 1, 5, 7},
		"height=2; width=9; scale_width=3":                   {1, 1, 2, 9},
		"height=2; width=9; scale_height=0.9; scale_width=1": {1, 1, 4, 6},
	}
	for text, want := range cases {
		inferCase{op: "_contrib_BilinearResize2D", attrs: text, in: shapes{{1, 1, 5, 6}},
			wantOut: shapes{want}}.run(t)
	}
}
