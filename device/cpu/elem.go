//go:build cgo

package cpu

/*
#include "elem.h"
#cgo noescape gx_map
#cgo nocallback gx_map
#cgo noescape gx_zip
#cgo nocallback gx_zip
#cgo noescape gx_broadcast
#cgo nocallback gx_broadcast
#cgo noescape gx_select
#cgo nocallback gx_select
#cgo noescape gx_fill
#cgo nocallback gx_fill
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// Map applies a function to every element of a float32 array. The zero value copies on one thread.
type Map struct {
	Op      MapOp
	S, T    float32 // constants of the function
	Threads int
}

// Run computes d[i] = f(x[i]) for n elements; d and x may be the same memory.
func (m Map) Run(d, x unsafe.Pointer, n int) {
	C.gx_map(C.int(m.Op), (*C.float)(d), (*C.float)(x), C.int64_t(n), C.float(m.S), C.float(m.T),
		C.int(m.Threads))
}

// Zip joins two float32 arrays of one shape element by element. The zero value adds on one thread.
type Zip struct {
	Op      ZipOp
	S, T    float32 // constants of gradients
	Threads int
}

// Run computes d[i] = f(a[i], b[i]) for n elements; d may be the memory of a or b.
func (z Zip) Run(d, a, b unsafe.Pointer, n int) {
	C.gx_zip(C.int(z.Op), (*C.float)(d), (*C.float)(a), (*C.float)(b), C.int64_t(n), C.float(z.S),
		C.float(z.T), C.int(z.Threads))
}

// Broadcast joins two arrays whose shapes broadcast.
type Broadcast struct {
	op      ZipOp
	typ     C.int
	threads int
	n       int
	flat    bool // both operands have the output's extents
	shape   C.gx_shape
}

// NewBroadcast prepares op for operands of shapes a and b and an output of shape out, all of type t.
// It reports false when the operands alternate over too many axes, op does not broadcast, or there
// is no kernel for the type: float32 has all functions, uint8, int32 and int64 have sums, products,
// extremes, comparisons and logic, and bool the last three.
func NewBroadcast(op ZipOp, t dtype.Type, a, b, out dtype.Shape, threads int) (*Broadcast, bool) {
	dims, st := collapse(out, strideTo(a, out), strideTo(b, out))
	typ, ok := castTypes[t]
	if len(dims) > C.GX_MAX_DIMS || op > lastBroadcast || !ok ||
		C.gx_broadcasts(C.int(op), typ) == 0 {
		return nil, false
	}
	r := &Broadcast{op: op, typ: typ, threads: threads, n: out.Size(),
		flat: t == dtype.Float32 && a.Size() == out.Size() && b.Size() == out.Size()}
	r.shape.n = C.int64_t(len(dims))
	for i, n := range dims {
		r.shape.dims[i], r.shape.a[i], r.shape.b[i] = C.int64_t(n), C.int64_t(st[0][i]),
			C.int64_t(st[1][i])
	}
	return r, true
}

// Run computes d = f(a, b). d may be the memory of an operand that has the output's shape.
func (r *Broadcast) Run(d, a, b unsafe.Pointer) {
	switch {
	case r.n == 0:
	case r.flat:
		Zip{Op: r.op, Threads: r.threads}.Run(d, a, b, r.n)
	default:
		C.gx_broadcast(C.int(r.op), r.typ, d, a, b, &r.shape, C.int(r.threads))
	}
}

// Select chooses between two arrays of elements of Size bytes.
type Select struct {
	cond    C.int
	Size    int
	Threads int
}

// NewSelect prepares a choice by a condition of type cond. It reports false when there is no kernel
// for the type or size.
func NewSelect(cond dtype.Type, size, threads int) (Select, bool) {
	c, ok := castTypes[cond]
	return Select{c, size, threads}, ok && (size == 1 || size == 4 || size == 8)
}

// Run computes d[i] = a[i] where c[i] is not zero, b[i] elsewhere, for n elements. d may be the
// memory of a or b.
func (s Select) Run(d, c, a, b unsafe.Pointer, n int) {
	C.gx_select(d, c, s.cond, a, b, C.int64_t(n), C.int(s.Size), C.int(s.Threads))
}

// Fill sets n float32 elements to v.
func Fill(d unsafe.Pointer, n int, v float32, threads int) {
	C.gx_fill((*C.float)(d), C.int64_t(n), C.float(v), C.int(threads))
}
