package loop

import (
	"unsafe"

	"gomx/device/cpu/pure"
	"gomx/dtype"
	"gomx/op"
)

// smallSplit is the number of elements below which a sparse kernel uses one thread.
const smallSplit = 1 << 14

// Split calls f for ranges of 0 to n-1 in at most threads parts at once. work is the number of
// elements behind the n items. The results of f must not depend on the ranges.
func Split(threads, n, work int, f func(begin, end int)) {
	pure.Parallel(Parts(threads, work), n, func(_, begin, end int) { f(begin, end) })
}

// Parts returns how many threads suit work on so many elements, at most threads.
func Parts(threads, work int) int {
	if work < smallSplit {
		return 1
	}
	return threads
}

// Flat returns the elements from begin to end-1 of t as a vector.
func Flat(t op.Tensor, begin, end int) op.Tensor {
	t.Desc = op.Plain(t.DType, dtype.Shape{end - begin})
	if t.Data != nil {
		t.Data = unsafe.Add(t.Data, begin*t.DType.Size())
	}
	return t
}

// raw returns the memory of elements begin to end-1 of t.
func raw(t op.Tensor, begin, end int) []byte {
	if begin == end {
		return nil
	}
	size := t.DType.Size()
	return unsafe.Slice((*byte)(unsafe.Add(t.Data, begin*size)), (end-begin)*size)
}

// CopyStored makes the content of to that of from; their element types are the same.
func CopyStored(to, from *op.Sparse) {
	to.Structure(from)
	copy(to.Bytes(), from.Bytes())
}

// MapStored computes f of the stored values: the output stores the same places.
func MapStored(f Func1, c *op.Call) error {
	in, out := c.In[0].Sparse, c.Out[0].Sparse
	out.Structure(in)
	x, y := in.Values(), out.Values()
	n := x.Shape.Size()
	Split(c.Threads, n, n, func(begin, end int) {
		Map(f, Flat(y, begin, end), Flat(x, begin, end))
	})
	return nil
}

// Gather writes the elements of dense at the stored places of s to values, one after the other.
// dense has the shape of s or broadcasts to it.
func Gather(values op.Tensor, s *op.Sparse, dense op.Tensor, threads int) {
	if s.Storage == op.RowSparse {
		GatherRows(values, dense, s.Indices, s.Row(), threads)
		return
	}
	strides := Broadcast(dense.Shape, s.Shape)
	Split(threads, s.Shape[0], s.N, func(begin, end int) {
		switch dense.DType.Size() {
		case 1:
			gather(op.Bits[uint8](values), op.Bits[uint8](dense), s, strides, begin, end)
		case 2:
			gather(op.Bits[uint16](values), op.Bits[uint16](dense), s, strides, begin, end)
		case 4:
			gather(op.Bits[uint32](values), op.Bits[uint32](dense), s, strides, begin, end)
		default:
			gather(op.Bits[uint64](values), op.Bits[uint64](dense), s, strides, begin, end)
		}
	})
}

// gather is Gather for some rows of a csr matrix.
func gather[T any](values, dense []T, s *op.Sparse, strides []int, begin, end int) {
	for r := begin; r < end; r++ {
		for i := s.Starts[r]; i < s.Starts[r+1]; i++ {
			values[i] = dense[r*strides[0]+int(s.Indices[i])*strides[1]]
		}
	}
}

// Scatter writes values, which belong to the stored places of s, to these places of dense, which
// has the shape of s.
func Scatter(dense op.Tensor, s *op.Sparse, values op.Tensor, threads int) {
	if s.Storage == op.RowSparse {
		row := s.Row()
		Split(threads, s.N, s.N*row, func(begin, end int) {
			for i := begin; i < end; i++ {
				at := int(s.Indices[i]) * row
				copy(raw(dense, at, at+row), raw(values, i*row, (i+1)*row))
			}
		})
		return
	}
	Split(threads, s.Shape[0], s.N, func(begin, end int) {
		switch dense.DType.Size() {
		case 1:
			scatter(op.Bits[uint8](dense), op.Bits[uint8](values), s, begin, end)
		case 2:
			scatter(op.Bits[uint16](dense), op.Bits[uint16](values), s, begin, end)
		case 4:
			scatter(op.Bits[uint32](dense), op.Bits[uint32](values), s, begin, end)
		default:
			scatter(op.Bits[uint64](dense), op.Bits[uint64](values), s, begin, end)
		}
	})
}

// scatter is Scatter for some rows of a csr matrix.
func scatter[T any](dense, values []T, s *op.Sparse, begin, end int) {
	for r := begin; r < end; r++ {
		row := dense[r*s.Shape[1] : (r+1)*s.Shape[1]]
		for i := s.Starts[r]; i < s.Starts[r+1]; i++ {
			row[s.Indices[i]] = values[i]
		}
	}
}

// DenseOf returns t where it is dense, and otherwise a dense copy in memory of the Go heap.
func DenseOf(t op.Tensor, threads int) op.Tensor {
	if t.Sparse == nil {
		return t
	}
	dense := Blank(t)
	ToDense(dense, t.Sparse, threads)
	return dense
}

// Blank returns a dense tensor of zeros in memory of the Go heap, with the type and shape of t.
func Blank(t op.Tensor) op.Tensor {
	return op.Tensor{Desc: op.Plain(t.DType, t.Shape), Data: Room(t.DType, t.Shape.Size())}
}

// ToDense writes all elements of s to dense.
func ToDense(dense op.Tensor, s *op.Sparse, threads int) {
	n := dense.Shape.Size()
	Split(threads, n, n, func(begin, end int) { clear(raw(dense, begin, end)) })
	Scatter(dense, s, s.Values(), threads)
}
