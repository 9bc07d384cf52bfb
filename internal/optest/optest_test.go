package optest_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestDiff(t *testing.T) {
	x := optest.F([]int{2}, 1, 2)
	tests := []struct {
		name string
		got  op.Tensor
		same bool
	}{
		{"equal", optest.F([]int{2}, 1, 2), true},
		{"close", optest.F([]int{2}, 1, 2.00001), true},
		{"value", optest.F([]int{2}, 1, 2.1), false},
		{"shape", optest.F([]int{1, 2}, 1, 2), false},
		{"type", optest.Array(dtype.Float64, []int{2}, 1, 2), false},
	}
	for _, tt := range tests {
		if d := optest.Diff(tt.got, x, optest.Tolerance{}); (d == "") != tt.same {
			t.Errorf("%s: got %q", tt.name, d)
		}
	}
}

func TestEvalReportsMissingFeed(t *testing.T) {
	n := prim.Exp.Node(op.NoParams{}, op.Var("x").Entry(0))
	if _, err := optest.Eval([]op.Entry{n.Entry(0)}, nil); err == nil {
		t.Error("got no error for a variable without a feed")
	}
}

func ExampleEval() {
	x := op.Var("x")
	y := prim.Square.Node(op.NoParams{}, x.Entry(0))
	grads, err := op.Gradient(y, []op.Entry{prim.OnesLike.Apply(op.NoParams{}, y.Entry(0))}, []bool{true})
	if err != nil {
		panic(err)
	}
	out, err := optest.Eval([]op.Entry{y.Entry(0), grads[0]}, map[*op.Node]op.Tensor{x: op.TensorOf([]float32{1, 2, 3})})
	if err != nil {
		panic(err)
	}
	fmt.Println(op.Slice[float32](out[0]), op.Slice[float32](out[1]))
	// Output: [1 4 9] [2 4 6]
}
