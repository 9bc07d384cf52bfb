package ndarray

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"gomx/op"
)

// FromMat makes an array of float64 on the processor from a copy of a gonum matrix.
func FromMat(m mat.Matrix) *Array {
	rows, cols := m.Dims()
	if d, ok := m.(*mat.Dense); ok {
		if raw := d.RawMatrix(); raw.Stride == cols {
			return FromSlice(raw.Data[:rows*cols], rows, cols)
		}
	}
	data := make([]float64, 0, rows*cols)
	for i := range rows {
		for k := range cols {
			data = append(data, m.At(i, k))
		}
	}
	return FromSlice(data, rows, cols)
}

// Mat waits for a and returns a copy of its values as a gonum matrix. The array must have two axes,
// or one: a vector becomes a column. An array without elements becomes gonum's empty matrix.
func (a *Array) Mat() (*mat.Dense, error) {
	rows, cols := a.Size(), 1
	switch len(a.shape) {
	case 1:
	case 2:
		rows, cols = a.shape[0], a.shape[1]
	default:
		return nil, &op.Error{Op: "Mat",
			Msg:  fmt.Sprintf("the array has shape %v, want one or two axes", a.shape),
			Site: op.CallSite()}
	}
	v, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return &mat.Dense{}, nil
	}
	return mat.NewDense(rows, cols, v), nil
}
