package prim_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestConcat(t *testing.T) {
	x, y := optest.Range(2, 2), optest.F([]int{2, 1}, 10, 20)
	optest.Run(t, prim.Concat.Op,
		optest.Case{Name: "default axis", In: optest.Ops(x, y),
			Want: optest.Ops(optest.F([]int{2, 3}, 0, 1, 10, 2, 3, 20))},
		optest.Case{Name: "first axis", Params: prim.ConcatParams{Dim: op.Some(0)},
			In:   optest.Ops(x, optest.F([]int{1, 2}, 8, 9)),
			Want: optest.Ops(optest.F([]int{3, 2}, 0, 1, 2, 3, 8, 9))},
		optest.Case{Name: "last of three axes", Params: prim.ConcatParams{Dim: op.Some(-1)},
			In: optest.Ops(optest.Range(2, 1, 2), optest.Range(2, 1, 1))},
		optest.Case{Name: "one", In: optest.Ops(x), Want: optest.Ops(x)},
		optest.Case{Name: "one is empty", In: optest.Ops(x, optest.New(dtype.Float32, 2, 0)),
			Want: optest.Ops(x)},
		optest.Case{Name: "bytes", In: optest.Ops(optest.Array(dtype.Uint8, []int{1, 1}, 3),
			optest.Array(dtype.Uint8, []int{1, 1}, 4)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{1, 2}, 3, 4))},
	)
	optest.Run(t, prim.Stack.Op,
		optest.Case{In: optest.Ops(x, x), Want: optest.Ops(optest.F([]int{2, 2, 2}, 0, 1, 2, 3, 0,
			1, 2, 3))},
		optest.Case{Name: "last", Params: prim.StackParams{Axis: -1}, In: optest.Ops(x, x),
			Want: optest.Ops(optest.F([]int{2, 2, 2}, 0, 0, 1, 1, 2, 2, 3, 3))})
}

func TestConcatInfersTheMissingInput(t *testing.T) {
	in, out := []dtype.Shape{{2, 3}, nil}, []dtype.Shape{{-1, 7}}
	if err := prim.Concat.InferShape(prim.ConcatParams{NumArgs: 2, Dim: op.Some(1)}, in,
		out); err != nil || !in[1].Equal(dtype.Shape{2, 4}) {
		t.Errorf("got %v, %v, want (2, 4)", in[1], err)
	}
}

func TestConcatErrors(t *testing.T) {
	_, err := optest.Infer(prim.Concat.Op, prim.ConcatParams{NumArgs: 2, Dim: op.Some(1)},
		optest.Ops(optest.Range(2, 3), optest.Range(3, 3)))
	if err == nil || !strings.Contains(err.Error(), "differ in an axis other than 1") {
		t.Errorf("got error %v", err)
	}
}
