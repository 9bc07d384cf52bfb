package prim_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestSliceChannel(t *testing.T) {
	x := optest.Range(2, 4)
	optest.Run(t, prim.SliceChannel.Op,
		optest.Case{Params: prim.SliceChannelParams{NumOutputs: 2}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 2}, 0, 1, 4, 5), optest.F([]int{2, 2}, 2, 3, 6, 7))},
		optest.Case{Name: "squeeze", Params: prim.SliceChannelParams{NumOutputs: 2,
			Axis: op.Some(0), SqueezeAxis: true}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{4}, 0, 1, 2, 3), optest.F([]int{4}, 4, 5, 6, 7))},
		optest.Case{Name: "one", Params: prim.SliceChannelParams{NumOutputs: 1}, In: optest.Ops(x),
			Want: optest.Ops(x)})
	optest.Run(t, prim.SplitV2.Op,
		optest.Case{Params: prim.SplitV2Params{Indices: []int{0, 1}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 1}, 0, 4), optest.F([]int{2, 3}, 1, 2, 3, 5, 6, 7))},
		optest.Case{Name: "sections", Params: prim.SplitV2Params{Indices: []int{}, Sections: 2,
			Axis: op.Some(-1)}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 2}, 0, 1, 4, 5), optest.F([]int{2, 2}, 2, 3, 6, 7))})
}

func TestSliceChannelInfersInput(t *testing.T) {
	in, out := []dtype.Shape{nil}, []dtype.Shape{{2, 3}, nil}
	if err := prim.SliceChannel.InferShape(prim.SliceChannelParams{NumOutputs: 2, Axis: op.Some(1)},
		in, out); err != nil || !in[0].Equal(dtype.Shape{2, 6}) {
		t.Errorf("got %v, %v, want (2, 6)", in[0], err)
	}
}

func TestSliceChannelErrors(t *testing.T) {
	_, err := optest.Infer(prim.SliceChannel.Op, prim.SliceChannelParams{NumOutputs: 3,
		Axis: op.Some(1)}, optest.Ops(optest.Range(2, 4)))
	if err == nil || !strings.Contains(err.Error(), "extent 4 of axis 1, want a multiple of 3") {
		t.Errorf("got error %v", err)
	}
}
