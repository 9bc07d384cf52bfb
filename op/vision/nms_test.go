package vision_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestBoxNMS(t *testing.T) {
	type P = vision.BoxNMSParams
	x := optest.F([]int{4, 6},
		0, .5, .1, .1, .2, .2,
		1, .4, .1, .1, .2, .2,
		0, .3, .1, .1, .14, .14,
		2, .6, .5, .5, .7, .8)
	rows := func(list ...float64) []op.Tensor { return optest.Ops(optest.F([]int{4, 6}, list...)) }
	record := func(list ...float64) op.Tensor {
		return optest.Array(dtype.Int64, []int{4, 1}, list...)
	}
	first := []float64{2, .6, .5, .5, .7, .8, 0, .5, .1, .1, .2, .2}
	none := []float64{-1, -1, -1, -1, -1, -1}
	join := func(lists ...[]float64) (all []float64) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	head := optest.Ops(optest.F([]int{4, 6}, join([]float64{.1, .1, .1, .1, .1, .1},
		[]float64{.2, .2, .2, .2, .2, .2}, none, none)...))
	optest.Run(t, vision.BoxNMS.Op,
		optest.Case{Name: "all classes", NoDiff: true, Params: P{OverlapThresh: op.Some(.1),
			IDIndex: op.Some(0), ForceSuppress: true}, In: optest.Ops(x),
			Want:  append(rows(join(first, none, none)...), record(3, 0, -1, -1)),
			Heads: head,
			WantGrad: rows(.2, .2, .2, .2, .2, .2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, .1, .1, .1,
				.1, .1, .1)},
		optest.Case{Name: "by class", Params: P{OverlapThresh: op.Some(.1), IDIndex: op.Some(0)},
			In: optest.Ops(x), NoDiff: true,
			Want: append(rows(join(first, []float64{1, .4, .1, .1, .2, .2}, none)...),
				record(3, 0, 1, -1))},
		optest.Case{Name: "without classes a row is compared with all",
			Params: P{OverlapThresh: op.Some(.1)}, In: optest.Ops(x), NoDiff: true,
			Want: rows(join(first, none, none)...)},
		optest.Case{Name: "background and low scores left out", Params: P{IDIndex: op.Some(0),
			BackgroundID: op.Some(2), ValidThresh: .4}, In: optest.Ops(x), NoDiff: true,
			Want: rows(join([]float64{0, .5, .1, .1, .2, .2}, none, none, none)...)},
		optest.Case{Name: "best ones", Params: P{TopK: op.Some(1)}, In: optest.Ops(x), NoDiff: true,
			Want: rows(join(first[:6], none, none, none)...)},
		optest.Case{Name: "passed on", Params: P{TopK: op.Some(0)}, In: optest.Ops(x),
			Want: append(optest.Ops(x), record(0, 1, 2, 3))},
		optest.Case{Name: "nothing left", Params: P{ValidThresh: 1}, In: optest.Ops(x),
			NoDiff: true, Want: append(rows(-1), record(-1))},
		optest.Case{Name: "gradients of what is kept", In: optest.Ops(x)},
		optest.Case{Name: "to centres", NoDiff: true, Params: P{CoordStart: op.Some(0),
			ScoreIndex: op.Some(4), OutFormat: "center"},
			In:   optest.Ops(optest.F([]int{1, 2, 5}, 1, 1, 3, 2, .9, -1, 1, 3, 2, .8)),
			Want: optest.Ops(optest.F([]int{1, 2, 5}, 2, 1.5, 2, 1, .9, -1, 1, 3, 2, .8))},
		optest.Case{Name: "to corners", NoDiff: true, Params: P{CoordStart: op.Some(0),
			ScoreIndex: op.Some(4), InFormat: "center"},
			In:   optest.Ops(optest.F([]int{1, 1, 5}, 2, 1.5, 2, 1, .9)),
			Want: optest.Ops(optest.F([]int{1, 1, 5}, 1, 1, 3, 2, .9))},
		optest.Case{Name: "half", Params: P{IDIndex: op.Some(0)}, In: optest.Ops(half(x)),
			NoDiff: true})
	const back = "_backward_contrib_box_nms"
	runHidden(t, back, "", random(1, 4, 6), record(3, 0, -1, -1))
	if _, err := (optest.Runner{}).Apply(op.Lookup(back), P{CoordStart: op.Some(2),
		ScoreIndex: op.Some(1), OverlapThresh: op.Some(.5)}, optest.Ops(random(1, 4, 6),
		record(4, 0, -1, -1))); err == nil ||
		!strings.Contains(err.Error(), "record: row 4, want one below 4") {
		t.Errorf("row out of range: got error %v", err)
	}
}
