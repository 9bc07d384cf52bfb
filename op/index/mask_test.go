package index_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func TestBooleanMaskInGraphs(t *testing.T) {
	infer := func(in ...dtype.Shape) error {
		return index.BooleanMask.InferShape(index.BooleanMaskParams{}, in, []dtype.Shape{nil})
	}
	if err := infer(nil, dtype.Shape{2}); err != nil {
		t.Errorf("got %v for unknown data, want no error", err)
	}
	out := []dtype.Shape{nil}
	err := index.BooleanMask.InferShape(index.BooleanMaskParams{},
		[]dtype.Shape{{2, 3}, {2}}, out)
	if err != nil || !out[0].Equal(dtype.Shape{-1, 3}) {
		t.Errorf("got shape %v and error %v, want an unknown number of rows", out[0], err)
	}
	if err := infer(dtype.Shape{2, 3}, dtype.Shape{3}); err == nil ||
		!strings.Contains(err.Error(), "want (2,)") {
		t.Errorf("got %v, want an error about the shape of index", err)
	}
	if _, err := index.BooleanMask.ParseParams(map[string]string{"axis": "1"}); err == nil {
		t.Error("got no error for axis 1")
	}
}

func TestBooleanMaskResolves(t *testing.T) {
	r, err := index.BooleanMask.Resolve(index.BooleanMaskParams{}, []dtype.Shape{{3, 2}, {3}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		index op.Tensor
		want  []float64
	}{
		{optest.F([]int{3}, 1, 0, -2), []float64{0, 2}},
		{optest.Array(dtype.Int8, []int{3}, 0, 1, 0), []float64{1}},
		{optest.Array(dtype.Bool, []int{3}, 0, 0, 0), nil},
	} {
		want := optest.Array(dtype.Int64, []int{len(tt.want)}, tt.want...)
		if d := optest.Diff(r.Replace(tt.index), want, optest.Tolerance{}); d != "" {
			t.Errorf("%v: %s", tt.index.DType, d)
		}
	}
}
