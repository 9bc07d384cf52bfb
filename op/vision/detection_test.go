package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestMultiBoxDetection(t *testing.T) {
	type P = vision.MultiBoxDetectionParams
	in := optest.Ops(
		optest.F([]int{1, 3, 4}, .1, .6, .2, .05, .8, .3, .1, .55, .1, .1, .7, .4),
		optest.F([]int{1, 16}, 0, 0, 0, 0, .5, -.5, 1, 0, 0, 1, 0, -1, .3, .3, .3, .3),
		scene()[0])
	a := []float64{0, .8, 0, 0, .5, .5}
	b := []float64{1, .7, .1, .19532, .6, .60468}
	c := []float64{0, .55, .59972, 0, .91828, .31828}
	d := []float64{0, .3, .46965, .475, 1, .975}
	rows := func(list ...[]float64) []op.Tensor {
		var all []float64
		for _, r := range list {
			all = append(all, r...)
		}
		return optest.Ops(optest.F([]int{1, 4, 6}, all...))
	}
	gone := func(row []float64) []float64 { return append([]float64{-1}, row[1:]...) }
	optest.Run(t, vision.MultiBoxDetection.Op,
		optest.Case{Name: "default", NoDiff: true, In: in, Want: rows(a, b, c, d),
			Heads: rows(a, b, c, d), WantGrad: optest.Ops(optest.F([]int{1, 3, 4}, 0),
				optest.F([]int{1, 16}, 0), optest.F([]int{1, 4, 4}, 0))},
		optest.Case{Name: "all classes, not clipped", NoDiff: true, In: in,
			Params: P{ForceSuppress: true, NMSThreshold: op.Some(.3), NoClip: true},
			Want: rows(a, gone(b), []float64{0, .55, .59972, -.00028, .91828, .31828},
				[]float64{0, .3, .46965, .475, 1.08035, .975})},
		optest.Case{Name: "best ones, the others as they were", NoDiff: true, In: in,
			Params: P{NMSTopK: op.Some(2)}, Want: rows(a, b, gone(b), gone(c))},
		optest.Case{Name: "not sorted", NoDiff: true, In: in, Params: P{NMSThreshold: op.Some(0.),
			Threshold: op.Some(.5)},
			Want: rows(a, b, c, []float64{-1, -1, -1, -1, -1, -1})})
}
