package op

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
)

// Sparse is the content of an operand that is not stored densely.
//
// Invariants, which Check tests:
//  1. N is the number of stored rows (RowSparse) or elements (CSR); Indices has N numbers;
//  2. RowSparse: the indices are row numbers, ascending without repetition; Starts is nil;
//  3. CSR: Starts has one number more than the matrix has rows; the elements of row i are those
//     from Starts[i] to Starts[i+1]-1; their columns ascend without repetition within a row.
//
// Stored values may be zero. The memory is reused when the content changes. It belongs to the Go
// heap, or to the pool of the processor after Pool.
type Sparse struct {
	Storage Storage
	DType   dtype.Type
	Shape   dtype.Shape // of the whole operand
	N       int
	Indices []int64
	Starts  []int64
	values  []byte // N rows of the axes behind the first, or N elements; 64-byte aligned

	pooled bool            // Room takes memory from the pool
	blocks [2]device.Block // memory of values and of Indices, where it is of the pool

	columns atomic.Pointer[Columns] // nil: not found since the content has changed
}

// Columns are the columns of a csr matrix that have elements.
type Columns struct {
	Keys []int64 // the columns, ascending
	At   []int64 // place of the column of each element among Keys

	elements atomic.Pointer[Elements] // nil: not sorted yet
}

// Elements are the elements of a csr matrix, sorted by columns.
type Elements struct {
	Rows   []int64 // row of each element
	Starts []int64 // one more than columns
	Order  []int32 // elements of column k: Order[Starts[k]] to Order[Starts[k+1]-1], ascending
}

// Elements returns the elements by columns, which must not be changed. The first call calls sort.
// Several operations may call it at once.
func (c *Columns) Elements(sort func() *Elements) *Elements {
	e := c.elements.Load()
	if e == nil {
		e = sort()
		c.elements.Store(e)
	}
	return e
}

// Columns returns the columns of a csr matrix, which must not be changed. The first call after a
// change of the content calls find. Several operations that read s may call it at once.
func (s *Sparse) Columns(find func(s *Sparse) *Columns) *Columns {
	c := s.columns.Load()
	if c == nil {
		c = find(s)
		s.columns.Store(c)
	}
	return c
}

// Changed notes that Indices or Starts have been changed without Room.
func (s *Sparse) Changed() { s.columns.Store(nil) }

// NewSparse returns content without stored values. It panics with *Error where no array of the
// shape can have the storage type.
func NewSparse(s Storage, t dtype.Type, shape dtype.Shape) *Sparse {
	if err := CanStore(s, shape); err != nil {
		panic(err)
	}
	c := &Sparse{Storage: s, DType: t, Shape: shape}
	if s == CSR {
		c.Starts = make([]int64, shape[0]+1)
	}
	return c
}

// CanStore returns an error where no array of the shape can have the storage type.
func CanStore(s Storage, shape dtype.Shape) error {
	switch {
	case s == CSR && len(shape) != 2:
		return Errorf("shape", "%v, want two axes for storage csr", shape)
	case s == RowSparse && len(shape) == 0:
		return Errorf("shape", "%v, want at least one axis for storage row_sparse", shape)
	case s > CSR:
		return Errorf("stype", "%v, want default, row_sparse or csr", s)
	}
	return nil
}

// Row returns the number of values that belong to one index.
func (s *Sparse) Row() int {
	if s.Storage == CSR {
		return 1
	}
	return s.Shape[1:].Size()
}

// Room makes room for n indices with their values, whose content is then undefined, and reuses the
// memory that is there.
func (s *Sparse) Room(n int) {
	s.N = n
	s.Changed()
	if cap(s.Indices) < n {
		s.Indices = unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(s.memory(1, 8*n)))), n)
	}
	s.Indices = s.Indices[:n]
	bytes := n * s.Row() * s.DType.Size()
	if cap(s.values) < bytes {
		s.values = s.memory(0, bytes)
	}
	s.values = s.values[:bytes]
}

// memory returns bytes bytes, 64-byte aligned, in the place of block i if they are of the pool.
func (s *Sparse) memory(i, bytes int) []byte {
	if s.pooled {
		if b, err := device.Alloc(device.CPU(), bytes, device.PurposeStored); err == nil {
			s.blocks[i].Free()
			s.blocks[i] = b
			return unsafe.Slice((*byte)(b.Ptr), bytes)
		}
	}
	raw := make([]byte, bytes+63)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & 63)
	return raw[skip : skip+bytes : skip+bytes]
}

// Pool makes s take its memory from the pool of the processor from now on, which the collector does
// not have to clear and to find. The owner calls Free in the end.
func (s *Sparse) Pool() { s.pooled = true }

// Free returns the memory of the pool. s has no content then.
func (s *Sparse) Free() {
	for i := range s.blocks {
		s.blocks[i].Free()
		s.blocks[i] = device.Block{}
	}
	s.N, s.Indices, s.values = 0, nil, nil
	s.Changed()
}

// Cut keeps the first n indices and their values.
func (s *Sparse) Cut(n int) {
	s.Changed()
	s.N, s.Indices = n, s.Indices[:n]
	s.values = s.values[:n*s.Row()*s.DType.Size()]
}

// Empty drops all stored values.
func (s *Sparse) Empty() {
	s.Room(0)
	clear(s.Starts)
}

// Values returns the stored values as a dense operand: N rows of the axes behind the first, or N
// elements. Its memory is valid until the next Room.
func (s *Sparse) Values() Tensor {
	shape := dtype.Shape{s.N}
	if s.Storage == RowSparse {
		shape = append(shape, s.Shape[1:]...)
	}
	return Tensor{Desc: Plain(s.DType, shape), Data: unsafe.Pointer(unsafe.SliceData(s.values))}
}

// Bytes returns the memory of the stored values.
func (s *Sparse) Bytes() []byte { return s.values }

// Structure gives s the indices of from, which has the same extents along the axes that the indices
// number, and room for their values.
func (s *Sparse) Structure(from *Sparse) {
	s.Room(from.N)
	copy(s.Indices, from.Indices)
	copy(s.Starts, from.Starts)
	s.columns.Store(from.columns.Load())
}

// Check returns an error that tells which invariant the content breaks.
func (s *Sparse) Check() error {
	if err := CanStore(s.Storage, s.Shape); err != nil {
		return err
	}
	if len(s.Indices) != s.N || len(s.values) != s.N*s.Row()*s.DType.Size() {
		return Errorf("indices", "%d indices and %d bytes of values for %d of them",
			len(s.Indices), len(s.values), s.N)
	}
	if s.Storage == RowSparse {
		return ascending("row", s.Indices, s.Shape[0])
	}
	if len(s.Starts) != s.Shape[0]+1 {
		return Errorf("indptr", "%d starts of rows, want %d for shape %v", len(s.Starts),
			s.Shape[0]+1, s.Shape)
	}
	if s.Starts[0] != 0 || s.Starts[s.Shape[0]] != int64(s.N) {
		return Errorf("indptr", "from %d to %d, want 0 to %d", s.Starts[0], s.Starts[s.Shape[0]],
			s.N)
	}
	for i := range s.Shape[0] {
		begin, end := s.Starts[i], s.Starts[i+1]
		if begin > end || end > int64(s.N) {
			return Errorf("indptr", "row %d has the elements %d to %d of %d", i, begin, end, s.N)
		}
		if err := ascending("column", s.Indices[begin:end], s.Shape[1]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// ascending returns an error unless the numbers ascend without repetition from 0 on, below n.
func ascending(what string, list []int64, n int) error {
	last := int64(-1)
	for i, v := range list {
		switch {
		case v < 0 || v >= int64(n):
			return Errorf("indices", "%s %d, want 0 to %d", what, v, n-1)
		case v <= last:
			return Errorf("indices", "%s %d at position %d follows %d, want ascending numbers",
				what, v, i, last)
		}
		last = v
	}
	return nil
}

// Stored describes an operand of a storage type.
func Stored(s Storage, t dtype.Type, shape dtype.Shape) Desc {
	if s == Dense {
		return Plain(t, shape)
	}
	return Desc{DType: t, Shape: shape, Storage: s}
}
