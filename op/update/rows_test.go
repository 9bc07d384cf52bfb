package update_test

import (
	"math"
	"testing"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
)

// TestMeasuresOfSparseArrays: elements that are not stored are zeros.
func TestMeasuresOfSparseArrays(t *testing.T) {
	rows := nd.RowSparseFromSlices([]float32{3, 4}, []int{7}, nd.Shape{9, 2})
	bad := nd.CSRFromSlices([]float32{float32(math.NaN())}, []int{1}, []int{0, 1}, nd.Shape{1, 2})
	for _, tt := range []struct {
		o    *op.Op
		in   []*nd.Array
		want []float32
	}{
		{update.MultiSumSq.Op, []*nd.Array{rows, nd.FromSlice([]float32{1, 2})}, []float32{25, 5}},
		{update.AllFinite.Op, []*nd.Array{rows}, []float32{1}},
		{update.AllFinite.Op, []*nd.Array{bad}, []float32{0}},
		{update.MultiAllFinite.Op, []*nd.Array{rows, bad}, []float32{0}},
	} {
		out, err := nd.Invoke(tt.o, nil, tt.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := out[0].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.o.Name, got, tt.want)
			}
		}
	}
}
