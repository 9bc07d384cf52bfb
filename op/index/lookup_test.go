package index_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

// ids makes an operand of indices.
func ids(t dtype.Type, shape []int, values ...float64) op.Tensor {
	return optest.Array(t, shape, values...)
}

func TestIndexErrors(t *testing.T) {
	x := optest.Range(2, 2)
	tests := []struct {
		op   *op.Op
		p    any
		in   []op.Tensor
		want string
	}{
		{index.Take.Op, index.TakeParams{Mode: "raise"},
			optest.Ops(x, ids(dtype.Int32, []int{1}, 2)), "indices: 2, want 0 to 1"},
		{index.GatherND.Op, op.NoParams{}, optest.Ops(x, ids(dtype.Int32, []int{2, 1}, 0, 2)),
			"indices: 2 for axis 1, want 0 to 1"},
		{index.Take.Op, index.TakeParams{Mode: "clip"}, optest.Ops(optest.New(dtype.Float32, 0, 2),
			ids(dtype.Int32, []int{1}, 0)), "want none for an axis of extent 0"},
	}
	for _, tt := range tests {
		if _, err := (optest.Runner{}).Apply(tt.op, tt.p, tt.in); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.op.Name, err, tt.want)
		}
	}
}
