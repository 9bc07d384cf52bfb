package ndarray_test

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gomx/dtype"
	nd "gomx/ndarray"
)

func TestMatrices(t *testing.T) {
	m := mat.NewDense(3, 3, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	for name, c := range map[string]mat.Matrix{"dense": m, "part": m.Slice(0, 2, 1, 3),
		"transposed": m.T(), "symmetric": mat.NewSymDense(2, []float64{1, 2, 2, 3})} {
		t.Run(name, func(t *testing.T) {
			x := nd.FromMat(c)
			back, err := x.Mat()
			if err != nil || x.DType() != dtype.Float64 || !mat.Equal(back, c) {
				t.Errorf("got %v, %v, %v", x, back, err)
			}
		})
	}
	column, err := nd.FromSlice(ramp(2)).Mat()
	if err != nil || !mat.Equal(column, mat.NewDense(2, 1, []float64{0, 1})) {
		t.Errorf("a vector gives %v, %v", column, err)
	}
	if empty, err := nd.FromMat(&mat.Dense{}).Mat(); err != nil || !empty.IsEmpty() {
		t.Errorf("an empty matrix gives %v, %v", empty, err)
	}
	if _, err := nd.Zeros(nd.Shape{1, 1, 1}).Mat(); err == nil ||
		!strings.Contains(err.Error(), "(1, 1, 1), want one or two axes") {
		t.Errorf("got %v", err)
	}
}
