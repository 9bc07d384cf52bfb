package loop

import (
	"unsafe"

	"gomx/dtype"
	"gomx/op"
)

// zeroMask returns the bits of an element that are clear in a zero: all but the sign of
// floating-point numbers.
func zeroMask(t dtype.Type) uint64 {
	mask := ^uint64(0) >> (64 - 8*t.Size())
	if t.IsFloat() {
		mask >>= 1
	}
	return mask
}

// bitsOf calls the function for the size of the elements of t with its elements as integers.
func bitsOf(t op.Tensor, f8 func([]uint8), f16 func([]uint16), f32 func([]uint32),
	f64 func([]uint64)) {
	switch t.DType.Size() {
	case 1:
		f8(op.Bits[uint8](t))
	case 2:
		f16(op.Bits[uint16](t))
	case 4:
		f32(op.Bits[uint32](t))
	default:
		f64(op.Bits[uint64](t))
	}
}

type bits interface {
	uint8 | uint16 | uint32 | uint64
}

// ToRows stores the rows of dense that have an element other than zero.
func ToRows(out *op.Sparse, dense op.Tensor, threads int) {
	rows, row := dense.Shape[0], out.Row()
	filled := make([]bool, rows)
	Split(threads, rows, rows*row, func(begin, end int) {
		mask := zeroMask(dense.DType)
		bitsOf(dense, func(d []uint8) { markRows(filled, d, row, begin, end, uint8(mask)) },
			func(d []uint16) { markRows(filled, d, row, begin, end, uint16(mask)) },
			func(d []uint32) { markRows(filled, d, row, begin, end, uint32(mask)) },
			func(d []uint64) { markRows(filled, d, row, begin, end, mask) })
	})
	n := 0
	for _, f := range filled {
		if f {
			n++
		}
	}
	out.Room(n)
	n = 0
	for r, f := range filled {
		if f {
			out.Indices[n] = int64(r)
			n++
		}
	}
	Gather(out.Values(), out, dense, threads)
}

// markRows sets filled where a row has an element other than zero.
func markRows[T bits](filled []bool, dense []T, row, begin, end int, mask T) {
	for r := begin; r < end; r++ {
		for _, v := range dense[r*row : (r+1)*row] {
			if v&mask != 0 {
				filled[r] = true
				break
			}
		}
	}
}

// ToElements stores the elements of a dense matrix other than zero.
func ToElements(out *op.Sparse, dense op.Tensor, threads int) {
	mask := zeroMask(dense.DType)
	bitsOf(dense, func(d []uint8) { toElements(out, d, uint8(mask), threads) },
		func(d []uint16) { toElements(out, d, uint16(mask), threads) },
		func(d []uint32) { toElements(out, d, uint32(mask), threads) },
		func(d []uint64) { toElements(out, d, mask, threads) })
}

// toElements is ToElements for elements of one size, those with bits of mask set.
func toElements[T bits](out *op.Sparse, dense []T, mask T, threads int) {
	rows, columns := out.Shape[0], out.Shape[1]
	Split(threads, rows, len(dense), func(begin, end int) {
		for r := begin; r < end; r++ {
			n := int64(0)
			for _, v := range dense[r*columns : (r+1)*columns] {
				if v&mask != 0 {
					n++
				}
			}
			out.Starts[r+1] = n
		}
	})
	out.Starts[0] = 0
	for r := range rows {
		out.Starts[r+1] += out.Starts[r]
	}
	out.Room(int(out.Starts[rows]))
	Split(threads, rows, len(dense), func(begin, end int) {
		for r := begin; r < end; r++ {
			at := out.Starts[r]
			for k, v := range dense[r*columns : (r+1)*columns] {
				if v&mask != 0 {
					out.Indices[at] = int64(k)
					at++
				}
			}
		}
	})
	Gather(out.Values(), out, op.Tensor{Desc: op.Plain(out.DType, out.Shape),
		Data: unsafe.Pointer(unsafe.SliceData(dense))}, threads)
}

// RowsOfElements stores the rows of a csr matrix that store an element.
func RowsOfElements(out, in *op.Sparse) {
	n := 0
	for r := range in.Shape[0] {
		if in.Starts[r] < in.Starts[r+1] {
			n++
		}
	}
	out.Room(n)
	clear(out.Bytes())
	size, row := in.DType.Size(), out.Row()
	n = 0
	for r := range in.Shape[0] {
		begin, end := int(in.Starts[r]), int(in.Starts[r+1])
		if begin == end {
			continue
		}
		out.Indices[n] = int64(r)
		for i := begin; i < end; i++ {
			at := n*row + int(in.Indices[i])
			copy(out.Bytes()[at*size:(at+1)*size], in.Bytes()[i*size:])
		}
		n++
	}
}

// ElementsOfRows stores the elements other than zero of the stored rows of a matrix.
func ElementsOfRows(out, in *op.Sparse) {
	part := op.NewSparse(op.CSR, in.DType, dtype.Shape{in.N, in.Row()})
	ToElements(part, in.Values(), 1)
	out.Room(part.N)
	copy(out.Indices, part.Indices)
	copy(out.Bytes(), part.Bytes())
	clear(out.Starts)
	for i, r := range in.Indices {
		out.Starts[r+1] = part.Starts[i+1] - part.Starts[i]
	}
	for r := range out.Shape[0] {
		out.Starts[r+1] += out.Starts[r]
	}
}
