package ndarray_test

import (
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

func TestRows(t *testing.T) {
	x := nd.FromSlice(ramp(6), 3, 2)
	var places []int
	for i, row := range x.Rows() {
		places = append(places, i)
		row.Fill(float64(i))
		if i == 1 {
			break
		}
	}
	want(t, x, 0, 0, 1, 1, 4, 5)
	if !slices.Equal(places, []int{0, 1}) {
		t.Errorf("got rows %v", places)
	}
	if got := panics(t, func() { x.At(0).At(0).Rows() }); !strings.Contains(got, "scalar") {
		t.Errorf("got %q", got)
	}
}

func TestGradientsFlowThroughRows(t *testing.T) {
	x := nd.FromSlice(ramp(6), 3, 2)
	x.AttachGrad()
	sum := nd.Zeros(nd.Shape{2})
	for i, row := range nd.NewTape(true).Watch(x).Rows() {
		sum = sum.Add(row.MulScalar(float64(i)))
	}
	sum.Backward()
	want(t, x.Grad(), 0, 0, 1, 1, 2, 2)
}

func TestSlicesOfSlices(t *testing.T) {
	rows := [][]int32{{1, 2, 3}, {4, 5, 6}}
	x := nd.FromRows(rows)
	if !x.Shape().Equal(nd.Shape{2, 3}) || x.DType() != dtype.Int32 {
		t.Fatalf("got %v %v", x.DType(), x.Shape())
	}
	got, err := nd.RowsOf[int32](x)
	if err != nil || len(got) != 2 || !slices.Equal(got[0], rows[0]) ||
		!slices.Equal(got[1], rows[1]) {
		t.Errorf("got %v, %v", got, err)
	}
	if s := nd.FromRows[float32](nil).Shape(); !s.Equal(nd.Shape{0, 0}) {
		t.Errorf("no rows have shape %v", s)
	}
	if got := panics(t, func() { nd.FromRows([][]int8{{1}, {}}) }); !strings.Contains(got,
		"row 1 has 0 elements, want 1") {
		t.Errorf("got %q", got)
	}
	if _, err := nd.RowsOf[int32](x.Reshape(6)); err == nil ||
		!strings.Contains(err.Error(), "want two axes") {
		t.Errorf("got %v", err)
	}
	if _, err := nd.RowsOf[float32](x); err == nil || !strings.Contains(err.Error(), "int32") {
		t.Errorf("got %v", err)
	}
}
