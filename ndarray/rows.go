package ndarray

import (
	"fmt"
	"iter"

	"gomx/op"
)

// Rows iterates over the first axis: it yields each index and the view that At returns for it.
//
//	for i, row := range x.Rows() { … }
func (a *Array) Rows() iter.Seq2[int, *Array] {
	a.mem("Rows")
	if len(a.shape) == 0 {
		panic(misuse("Rows", "", "the array is a scalar, want at least one axis"))
	}
	return func(yield func(int, *Array) bool) {
		for i := range a.shape[0] {
			if !yield(i, a.At(i)) {
				return
			}
		}
	}
}

// FromRows makes a matrix on the processor from a copy of rows, which must be equally long.
func FromRows[T op.Element](rows [][]T) *Array {
	width := 0
	if len(rows) > 0 {
		width = len(rows[0])
	}
	data := make([]T, 0, len(rows)*width)
	for i, row := range rows {
		if len(row) != width {
			panic(misuse("FromRows", "rows", "row %d has %d elements, want %d as in row 0", i,
				len(row), width))
		}
		data = append(data, row...)
	}
	return FromSlice(data, len(rows), width)
}

// RowsOf waits for a matrix and returns its rows; T must be the Go type of its elements.
func RowsOf[T op.Element](a *Array) ([][]T, error) {
	if len(a.shape) != 2 {
		return nil, &op.Error{Op: "RowsOf",
			Msg: fmt.Sprintf("the array has shape %v, want two axes", a.shape), Site: op.CallSite()}
	}
	data, err := Values[T](a)
	if err != nil {
		return nil, err
	}
	rows := make([][]T, a.shape[0])
	for i := range rows {
		rows[i] = data[i*a.shape[1] : (i+1)*a.shape[1] : (i+1)*a.shape[1]]
	}
	return rows, nil
}
