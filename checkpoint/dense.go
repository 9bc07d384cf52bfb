package checkpoint

import (
	"encoding/binary"
	"fmt"

	"gomx/dtype"
)

// Dense returns the record with every element stored. A dense record is returned unchanged. It is
// an error if index arrays contradict the shape, or if the result takes more than limit bytes: a
// sparse record of a few bytes may claim any shape.
func (r *Record) Dense(limit int64) (*Record, error) {
	if r.Stype == Dense || r.Shape == nil {
		return r, nil
	}
	n, ok := ByteSize(r.DType, r.Shape)
	if !ok || n > limit {
		return nil, fmt.Errorf("checkpoint: %v array %q of shape %v: want at most %d bytes when "+
			"stored densely", r.Stype, r.Name, r.Shape, limit)
	}
	d := &Record{Name: r.Name, Version: r.Version, DType: r.DType, Shape: r.Shape}
	var err error
	if r.Stype == RowSparse {
		err = r.rows(d, int(n))
	} else {
		err = r.matrix(d, int(n))
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %v array %q: %w", r.Stype, r.Name, err)
	}
	return d, nil
}

// rows copies the stored rows of a row_sparse record to their places in the dense record d.
func (r *Record) rows(d *Record, n int) error {
	at, err := r.indices(0)
	if err != nil {
		return err
	}
	if err := r.checkRows(at); err != nil {
		return err
	}
	d.Data = make([]byte, n)
	row := n / max(r.Shape[0], 1)
	for i, k := range at {
		if k < 0 || k >= int64(r.Shape[0]) {
			return fmt.Errorf("row number %d, want less than %d", k, r.Shape[0])
		}
		copy(d.Data[int(k)*row:(int(k)+1)*row], r.Data[i*row:])
	}
	return nil
}

// checkRows compares the shapes of a row_sparse record with the numbers of its rows.
func (r *Record) checkRows(at []int64) error {
	if len(r.Shape) == 0 || len(r.Storage) != len(r.Shape) || r.Storage[0] != len(at) ||
		!r.Storage[1:].Equal(r.Shape[1:]) {
		return fmt.Errorf("%d rows stored in shape %v, want shape %v", len(at), r.Storage, r.Shape)
	}
	return nil
}

// matrix copies the stored elements of a csr record to their places in the dense record d.
func (r *Record) matrix(d *Record, n int) error {
	begin, column, err := r.checkMatrix()
	if err != nil {
		return err
	}
	d.Data = make([]byte, n)
	size := r.DType.Size()
	for row := range r.Shape[0] {
		if begin[row] < 0 || begin[row] > begin[row+1] || begin[row+1] > int64(len(column)) {
			return fmt.Errorf("row %d spans elements %d to %d of %d", row, begin[row], begin[row+1],
				len(column))
		}
		for i := begin[row]; i < begin[row+1]; i++ {
			c := column[i]
			if c < 0 || c >= int64(r.Shape[1]) {
				return fmt.Errorf("column number %d, want less than %d", c, r.Shape[1])
			}
			copy(d.Data[(row*r.Shape[1]+int(c))*size:][:size], r.Data[int(i)*size:])
		}
	}
	return nil
}

// checkMatrix returns the index arrays of a csr record, whose lengths fit its shapes.
func (r *Record) checkMatrix() (begin, column []int64, err error) {
	if begin, err = r.indices(0); err != nil {
		return nil, nil, err
	}
	if column, err = r.indices(1); err != nil {
		return nil, nil, err
	}
	if len(r.Shape) != 2 || len(begin) != r.Shape[0]+1 ||
		!r.Storage.Equal(dtype.Shape{len(column)}) {
		return nil, nil, fmt.Errorf("%d row pointers and %d columns for %v elements, want them "+
			"to fit shape %v", len(begin), len(column), r.Storage, r.Shape)
	}
	return begin, column, nil
}

// indices decodes index array i.
func (r *Record) indices(i int) ([]int64, error) {
	x := r.Aux[i]
	if len(x.Shape) != 1 {
		return nil, fmt.Errorf("index array %d has shape %v, want one axis", i, x.Shape)
	}
	list := make([]int64, x.Shape[0])
	for k := range list {
		switch x.DType {
		case dtype.Int64:
			list[k] = int64(binary.LittleEndian.Uint64(x.Data[8*k:]))
		case dtype.Int32:
			list[k] = int64(int32(binary.LittleEndian.Uint32(x.Data[4*k:])))
		default:
			return nil, fmt.Errorf("index array %d has dtype %v, want int64 or int32", i, x.DType)
		}
	}
	return list, nil
}
