package op_test

import (
	"testing"

	"gomx/dtype"
	"gomx/op"
)

// costly declares operators that differ in the traits and functions that Cost reads.
func costly(name string, t op.Traits, flops func(op.NoParams, []dtype.Shape,
	[]dtype.Shape) int64) *op.Op {
	h := op.Declare[op.NoParams](name)
	t.Hidden, t.NoGrad = true, "test"
	h.Define(op.Spec[op.NoParams]{Traits: t, Infer: op.SameShape[op.NoParams], FLOPs: flops,
		Ref: func(op.NoParams, *op.Call) error { return nil }})
	return h.Op
}

func TestCost(t *testing.T) {
	in := []op.Desc{op.Plain(dtype.Float32, dtype.Shape{2, 3}), op.Plain(dtype.Float64,
		dtype.Shape{100})}
	out := []op.Desc{op.Plain(dtype.Float32, dtype.Shape{4}), op.Plain(dtype.Float32,
		dtype.Shape{5})}
	none := []op.Desc{op.Plain(dtype.Float32, nil)}
	tests := []struct {
		name    string
		op      *op.Op
		in, out []op.Desc
		want    op.Cost
	}{
		{"elements", costly("test_cost", op.Traits{}, nil), in, out,
			op.Cost{FLOPs: 4, Bytes: 24 + 800 + 36}},
		{"moves", costly("test_cost_moves", op.Traits{Moves: true}, nil), in, out,
			op.Cost{Bytes: 24 + 800 + 36}},
		{"identity", costly("test_cost_identity", op.Traits{Identity: true}, nil), in, out,
			op.Cost{Bytes: 24 + 800 + 36}},
		{"ignored", costly("test_cost_ignores", op.Traits{Ignores: []int{1}}, nil), in, out,
			op.Cost{FLOPs: 4, Bytes: 24 + 36}},
		{"gathered", costly("test_cost_gathers", op.Traits{Gathers: []int{0, 1}}, nil), in, out,
			op.Cost{FLOPs: 4, Bytes: 24 + 36 + 36}},
		{"counted", costly("test_cost_counted", op.Traits{}, op.PerInput[op.NoParams]), in, out,
			op.Cost{FLOPs: 6, Bytes: 24 + 800 + 36}},
		{"unknown input", op.Lookup("test_cost"), none, out, op.Cost{Bytes: 36}},
		{"unknown output", op.Lookup("test_cost"), in, none, op.Cost{Bytes: 24 + 800}},
		{"no output", op.Lookup("test_cost"), in, nil, op.Cost{Bytes: 24 + 800}},
	}
	for _, tt := range tests {
		if got := tt.op.Cost(op.NoParams{}, tt.in, tt.out); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
