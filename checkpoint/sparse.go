package checkpoint

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"gomx/dtype"
	"gomx/op"

	nd "gomx/ndarray"
)

// fillSparse describes a sparse array in r and waits for its content.
func fillSparse(r *Record, a *nd.Array) error {
	s, err := a.Content()
	if err != nil {
		return fmt.Errorf("array %q: %w", r.Name, err)
	}
	r.Stype, r.DType, r.Shape = Stype(s.Storage), s.DType, s.Shape
	r.Storage, r.Data = s.Values().Shape, s.Bytes()
	if s.Storage == op.CSR {
		r.Aux = append(r.Aux, indexOf(s.Starts))
	}
	r.Aux = append(r.Aux, indexOf(s.Indices))
	return nil
}

// indexOf makes an index array of numbers.
func indexOf(list []int64) Index {
	x := Index{DType: dtype.Int64, Shape: dtype.Shape{len(list)}}
	for _, v := range list {
		x.Data = binary.LittleEndian.AppendUint64(x.Data, uint64(v))
	}
	return x
}

// content returns the content of a sparse record. Rows, and the columns of a row, may come in any
// order in the file, and MXNet leaves room behind the last element of a matrix.
func (r *Record) content() (*op.Sparse, error) {
	if err := op.CanStore(op.Storage(r.Stype), r.Shape); err != nil {
		return nil, fmt.Errorf("checkpoint: %v array %q: %w", r.Stype, r.Name, err)
	}
	if _, ok := ByteSize(r.DType, r.Shape); !ok {
		return nil, fmt.Errorf("checkpoint: %v array %q: shape %v, which no memory can hold",
			r.Stype, r.Name, r.Shape)
	}
	fill := r.fillRows
	if r.Stype == CSR {
		fill = r.fillMatrix
	}
	s, err := fill()
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %v array %q: %w", r.Stype, r.Name, err)
	}
	return s, nil
}

// fillRows returns the content of a row_sparse record.
func (r *Record) fillRows() (*op.Sparse, error) {
	at, err := r.indices(0)
	if err != nil {
		return nil, err
	}
	if err := r.checkRows(at); err != nil {
		return nil, err
	}
	s := op.NewSparse(op.RowSparse, r.DType, r.Shape)
	s.Room(len(at))
	take(s, places(0, at), at, r.Data)
	return s, nil
}

// fillMatrix returns the content of a csr record.
func (r *Record) fillMatrix() (*op.Sparse, error) {
	begin, column, err := r.checkMatrix()
	if err != nil {
		return nil, err
	}
	var order []int
	for i := range r.Shape[0] {
		if begin[i] < 0 || begin[i] > begin[i+1] || begin[i+1] > int64(len(column)) {
			return nil, fmt.Errorf("row %d spans elements %d to %d of %d", i, begin[i], begin[i+1],
				len(column))
		}
		order = append(order, places(int(begin[i]), column[begin[i]:begin[i+1]])...)
	}
	s := op.NewSparse(op.CSR, r.DType, r.Shape)
	copy(s.Starts, begin)
	s.Room(len(order))
	take(s, order, column, r.Data)
	return s, nil
}

// places returns the positions first, first+1, … of numbers, sorted by the numbers.
func places(first int, list []int64) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = first + i
	}
	if !slices.IsSorted(list) {
		slices.SortStableFunc(order, func(i, k int) int {
			return cmp.Compare(list[i-first], list[k-first])
		})
	}
	return order
}

// take copies indices and values in an order to s, which has room for them.
func take(s *op.Sparse, order []int, indices []int64, data []byte) {
	size := s.Row() * s.DType.Size()
	for to, from := range order {
		s.Indices[to] = indices[from]
		copy(s.Bytes()[to*size:(to+1)*size], data[from*size:])
	}
}
