//go:build cgo

package cpu

/*
#include "reduce.h"
#cgo noescape gx_reduce
#cgo nocallback gx_reduce
#cgo noescape gx_arg
#cgo nocallback gx_arg
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// ReduceOp is a way to make one element of many.
type ReduceOp int

// The reductions.
const (
	Sum       ReduceOp = C.GX_SUM
	SumSquare ReduceOp = C.GX_SUM_SQUARE
	Prod      ReduceOp = C.GX_PROD
	MaxOf     ReduceOp = C.GX_REDUCE_MAX // NaN if there is one
	MinOf     ReduceOp = C.GX_REDUCE_MIN
)

// Axis3 sees an array as (Outer, N, Inner) around one axis.
type Axis3 struct{ Outer, N, Inner int }

// SplitAt returns the view of a shape around an axis that it has.
func SplitAt(s dtype.Shape, axis int) Axis3 {
	return Axis3{s[:axis].Size(), s[axis], s[axis+1:].Size()}
}

// Reduce reduces any axes of a float32 array, one group of neighbouring axes after the other.
type Reduce struct {
	op      ReduceOp
	scale   float32
	threads int
	steps   []Axis3
	buffer  [2]int // offsets in scratch of results between steps
	work    int    // offset of the working space of a step
	scratch int
}

// NewReduce prepares the reduction of the marked axes of a shape; the result is multiplied by
// scale.
func NewReduce(op ReduceOp, shape dtype.Shape, axes []bool, scale float32, threads int) *Reduce {
	r := &Reduce{op: op, scale: scale, threads: threads}
	r.plan(shape, axes)
	sizes := [2]int{}
	work := 0
	for i, s := range r.steps {
		if i < len(r.steps)-1 {
			sizes[i%2] = max(sizes[i%2], 4*s.Outer*s.Inner)
		}
		work = max(work, int(C.gx_reduce_scratch(C.int64_t(s.Outer), C.int64_t(s.N),
			C.int64_t(s.Inner))))
	}
	r.buffer = [2]int{0, align(sizes[0])}
	r.work = r.buffer[1] + align(sizes[1])
	r.scratch = r.work + align(work)
	return r
}

// plan lists the steps: the last group of reduced axes goes first, since it is the fastest.
func (r *Reduce) plan(shape dtype.Shape, axes []bool) {
	var dims []int
	var red []bool
	for i, n := range shape {
		if n == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && red[k] == axes[i] {
			dims[k] *= n
			continue
		}
		dims, red = append(dims, n), append(red, axes[i])
	}
	inner := 1
	for k := len(dims) - 1; k >= 0; k-- {
		if !red[k] {
			inner *= dims[k]
			continue
		}
		r.steps = append(r.steps, Axis3{dtype.Shape(dims[:k]).Size(), dims[k], inner})
	}
	if len(r.steps) == 0 { // nothing to reduce but single elements
		r.steps = []Axis3{{shape.Size(), 1, 1}}
	}
}

func align(bytes int) int { return (bytes + 63) &^ 63 }

// Scratch returns the bytes of scratch memory that Run needs.
func (r *Reduce) Scratch() int { return r.scratch }

// Run reduces a to d.
func (r *Reduce) Run(d, a, scratch unsafe.Pointer) {
	op := r.op
	for i, s := range r.steps {
		out, scale := d, r.scale
		if i < len(r.steps)-1 {
			out, scale = unsafe.Add(scratch, r.buffer[i%2]), 1
		}
		C.gx_reduce(C.int(op), (*C.float)(out), (*C.float)(a), C.int64_t(s.Outer), C.int64_t(s.N),
			C.int64_t(s.Inner),
			C.float(scale), C.int(r.threads), (*C.float)(unsafe.Add(scratch, r.work)))
		a = out
		if op == SumSquare {
			op = Sum
		}
	}
}

// ArgMax writes the index of the first largest element along the axis, as float32.
func ArgMax(d, x unsafe.Pointer, a Axis3, threads int) { argExtreme(d, x, a, 1, threads) }

// ArgMin writes the index of the first smallest element along the axis, as float32.
func ArgMin(d, x unsafe.Pointer, a Axis3, threads int) { argExtreme(d, x, a, -1, threads) }

func argExtreme(d, x unsafe.Pointer, a Axis3, sign, threads int) {
	C.gx_arg((*C.float)(d), (*C.float)(x), C.int64_t(a.Outer), C.int64_t(a.N), C.int64_t(a.Inner),
		C.int(sign), C.int(threads))
}
