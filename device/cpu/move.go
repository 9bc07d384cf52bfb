//go:build cgo

package cpu

/*
#include "move.h"
#cgo noescape gx_gather_view
#cgo nocallback gx_gather_view
#cgo noescape gx_copy_rows
#cgo nocallback gx_copy_rows
#cgo noescape gx_cast
#cgo nocallback gx_cast
#cgo noescape gx_from_half
#cgo nocallback gx_from_half
#cgo noescape gx_to_half
#cgo nocallback gx_to_half
#cgo noescape gx_from_bf16
#cgo nocallback gx_from_bf16
#cgo noescape gx_to_bf16
#cgo nocallback gx_to_bf16
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// View is a strided view of memory next to a dense array of the same extents.
type View struct {
	threads C.int
	offset  int // bytes
	v       C.gx_view
}

// NewView prepares moving elements of size bytes (1, 2, 4 or 8) between a dense array of a shape
// and a view with the given strides and offset, all in elements. It reports false when the view has
// too many axes.
func NewView(shape dtype.Shape, strides []int, offset, size, threads int) (*View, bool) {
	dims, st := collapse(shape, strides)
	if len(dims) > C.GX_MAX_DIMS {
		return nil, false
	}
	k := &View{threads: C.int(threads), offset: offset * size}
	k.v.n, k.v.size = C.int64_t(len(dims)), C.int64_t(size)
	for i, n := range dims {
		k.v.dims[i], k.v.stride[i] = C.int64_t(n), C.int64_t(st[0][i])
	}
	return k, true
}

// Gather writes the view of s to dense d: transpositions, slices, reversals and repetitions.
func (k *View) Gather(d, s unsafe.Pointer) {
	C.gx_gather_view(d, unsafe.Add(s, k.offset), &k.v, k.threads)
}

// Rows copies Count rows of Bytes bytes between memory with different distances of rows in bytes.
type Rows struct {
	Count, Bytes, DPitch, SPitch int
	Threads                      int
}

// Copy copies from s to d, which do not overlap.
func (r Rows) Copy(d, s unsafe.Pointer) {
	C.gx_copy_rows(d, C.int64_t(r.DPitch), s, C.int64_t(r.SPitch), C.int64_t(r.Bytes),
		C.int64_t(r.Count), C.int(r.Threads))
}

var castTypes = map[dtype.Type]C.int{dtype.Float32: C.GX_F32, dtype.Float64: C.GX_F64,
	dtype.Uint8: C.GX_U8, dtype.Int8: C.GX_I8,
	dtype.Int32: C.GX_I32, dtype.Int64: C.GX_I64, dtype.Bool: C.GX_BOOL}

// Cast converts n elements between element types.
type Cast struct {
	kind     int
	dst, src C.int
	Threads  int
}

// NewCast prepares a conversion; ok is false for pairs that have no kernel. Conversions to integers
// cut off the fraction; x86 processors define the results for numbers that the target cannot hold.
func NewCast(dst, src dtype.Type, threads int) (c Cast, ok bool) {
	d, dok := castTypes[dst]
	s, sok := castTypes[src]
	c = Cast{dst: d, src: s, Threads: threads}
	switch {
	case dok && sok:
		return c, true
	case dst == dtype.Float32 && src == dtype.Float16:
		c.kind = 1
	case dst == dtype.Float16 && src == dtype.Float32:
		c.kind = 2
	case dst == dtype.Float32 && src == dtype.BFloat16:
		c.kind = 3
	case dst == dtype.BFloat16 && src == dtype.Float32:
		c.kind = 4
	}
	return c, c.kind != 0
}

// Run converts n elements of s to d.
func (c Cast) Run(d, s unsafe.Pointer, n int) {
	switch c.kind {
	case 1:
		C.gx_from_half((*C.float)(d), (*C.uint16_t)(s), C.int64_t(n), C.int(c.Threads))
	case 2:
		C.gx_to_half((*C.uint16_t)(d), (*C.float)(s), C.int64_t(n), C.int(c.Threads))
	case 3:
		C.gx_from_bf16((*C.float)(d), (*C.uint16_t)(s), C.int64_t(n), C.int(c.Threads))
	case 4:
		C.gx_to_bf16((*C.uint16_t)(d), (*C.float)(s), C.int64_t(n), C.int(c.Threads))
	default:
		C.gx_cast(d, c.dst, s, c.src, C.int64_t(n), C.int(c.Threads))
	}
}
