package prim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestReshape(t *testing.T) {
	tests := []struct {
		in   []int
		p    prim.ReshapeParams
		want []int
	}{
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{4, 0, 2}}, []int{4, 3, 2}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{6, 1, -1}}, []int{6, 1, 4}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{-2}}, []int{2, 3, 4}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{2, -2}}, []int{2, 3, 4}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{-2, 1, 1}}, []int{2, 3, 4, 1, 1}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{-3, 4}}, []int{6, 4}},
		{[]int{2, 3, 4, 5}, prim.ReshapeParams{Shape: []int{-3, -3}}, []int{6, 20}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{0, -3}}, []int{2, 12}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{-4, 1, 2, -2}}, []int{1, 2, 3, 4}},
		{[]int{2, 3, 4}, prim.ReshapeParams{Shape: []int{2, -4, -1, 3, -2}}, []int{2, 1, 3, 4}},
		{[]int{10, 5, 4}, prim.ReshapeParams{Shape: []int{-1, 0}}, []int{40, 5}},
		{[]int{10, 5, 4}, prim.ReshapeParams{Shape: []int{-1, 0}, Reverse: true}, []int{50, 4}},
		{[]int{2, 3, 4}, prim.ReshapeParams{TargetShape: []int{2, 0}}, []int{2, 12}},
		{[]int{2, 3, 4}, prim.ReshapeParams{TargetShape: []int{9, 4, 0}, KeepHighest: true},
			[]int{2, 4, 3}},
	}
	for _, tt := range tests {
		x := optest.Range(tt.in...)
		y := x
		y.Shape = tt.want
		optest.Run(t, prim.Reshape.Op, optest.Case{Name: fmt.Sprint(tt.p), Params: tt.p,
			In: optest.Ops(x), Want: optest.Ops(y)})
	}
}

func TestReshapeReversedSplit(t *testing.T) {
	got, err := optest.Infer(prim.Reshape.Op, prim.ReshapeParams{Shape: []int{-1, -4, 2, 4},
		Reverse: true}, optest.Ops(optest.Range(2, 3, 8)))
	if err != nil || !slices.Equal(got[0].Shape, []int{6, 2, 4}) {
		t.Errorf("got %v, %v, want (6, 2, 4)", got, err)
	}
}

func TestReshapeInfersInput(t *testing.T) {
	in, out := []dtype.Shape{{-1, 3, 4}}, []dtype.Shape{{24}}
	if err := prim.Reshape.InferShape(prim.ReshapeParams{Shape: []int{-1}}, in, out); err != nil ||
		!in[0].Equal(dtype.Shape{2, 3, 4}) {
		t.Errorf("got %v, %v, want (2, 3, 4)", in[0], err)
	}
}

func TestReshapeErrors(t *testing.T) {
	tests := []struct {
		shape []int
		want  string
	}{
		{[]int{5, 5}, "shape: (5, 5) makes (5, 5) of data of shape (2, 3, 4), want as many " +
			"elements"},
		{[]int{-1, -1}, "more than one -1"},
		{[]int{0, 0, 0, 0}, "wants more axes than the 3"},
		{[]int{-4, -1, -1, 4}, "-4 splits into -1 and -1"},
		{[]int{-4, 3, 3, -2}, "-4 splits extent 2 into 3 and 3"},
		{[]int{-5}, "-5 is no extent"},
		{nil, "shape: missing"},
	}
	for _, tt := range tests {
		_, err := optest.Infer(prim.Reshape.Op, prim.ReshapeParams{Shape: tt.shape},
			optest.Ops(optest.Range(2, 3, 4)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("shape %v: got error %v, want %q", tt.shape, err, tt.want)
		}
	}
}

func TestFlattenAndKin(t *testing.T) {
	x := optest.Range(2, 3, 4)
	as := func(shape ...int) []op.Tensor {
		y := x
		y.Shape = shape
		return optest.Ops(y)
	}
	optest.Run(t, prim.Flatten.Op,
		optest.Case{In: optest.Ops(x), Want: as(2, 12)},
		optest.Case{Name: "vector", In: optest.Ops(optest.Range(3)),
			Want: optest.Ops(optest.F([]int{3, 1}, 0, 1, 2))},
		optest.Case{Name: "empty", In: optest.Ops(optest.New(dtype.Float32, 0, 3, 2)),
			Want: optest.Ops(optest.New(dtype.Float32, 0, 6))})
	optest.Run(t, prim.ExpandDims.Op,
		optest.Case{Params: prim.ExpandDimsParams{Axis: 1}, In: optest.Ops(x),
			Want: as(2, 1, 3, 4)},
		optest.Case{Params: prim.ExpandDimsParams{Axis: -1}, In: optest.Ops(x),
			Want: as(2, 3, 4, 1)})
	optest.Run(t, prim.Squeeze.Op,
		optest.Case{Name: "all", In: as(1, 24, 1), Want: as(24)},
		optest.Case{Name: "one", Params: prim.SqueezeParams{Axis: []int{-1}}, In: as(1, 24, 1),
			Want: as(1, 24)},
		optest.Case{Name: "nothing is left", In: optest.Ops(optest.F([]int{1, 1}, 5)),
			Want: optest.Ops(optest.F([]int{1}, 5))})
	optest.Run(t, prim.ReshapeLike.Op,
		optest.Case{In: optest.Ops(x, optest.Range(4, 6)), Want: as(4, 6)},
		optest.Case{Name: "part", Params: prim.ReshapeLikeParams{LhsBegin: op.Some(0),
			LhsEnd: op.Some(1), RhsBegin: op.Some(1), RhsEnd: op.Some(3)},
			In: optest.Ops(x, optest.Range(9, 1, 2)), Want: as(1, 2, 3, 4)})
}
