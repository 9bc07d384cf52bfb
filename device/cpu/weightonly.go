//go:build cgo

package cpu

/*
#include "product.h"
#include "weightonly.h"
#cgo noescape gx_weightonly_run
#cgo nocallback gx_weightonly_run
#cgo noescape gx_weightonly_expand
#cgo nocallback gx_weightonly_expand
#cgo noescape gx_weightonly_bias
#cgo nocallback gx_weightonly_bias
*/
import "C"

import "unsafe"

// WeightOnly is a dense layer y = x·wᵀ + bias of float32 arrays x (Rows, Columns) and y (Rows,
// Outputs), whose weights are integers of 8 or 4 bits, with a scale for each Group of columns. See
// weightonly.h for their places.
//
// Few rows read the integers inside of the product. For more rows, parts of the weights become real
// numbers in scratch memory first.
type WeightOnly struct {
	Rows, Columns, Outputs, Group, Bits int
	Threads                             int
}

// Parts of the weights for products of many rows.
const (
	weightOnlyRows = 12      // from here on
	weightOnlyPart = 1 << 20 // numbers of a part, at most, but at least of one output
)

// part returns the number of outputs whose weights are real numbers at a time, 0: none.
func (w *WeightOnly) part() int {
	if w.Rows < weightOnlyRows {
		return 0
	}
	return min(w.Outputs, max(1, weightOnlyPart/max(w.Columns, 1)))
}

// Scratch returns the bytes of scratch memory that Run needs.
func (w *WeightOnly) Scratch() int { return w.part() * w.Columns * 4 }

// WeightOnlyOperands holds the operands of WeightOnly.Run. Bias may be nil.
type WeightOnlyOperands struct{ Y, X, Codes, Scale, Bias unsafe.Pointer }

// Run computes the layer.
func (w *WeightOnly) Run(o WeightOnlyOperands, scratch unsafe.Pointer) error {
	c := C.gx_weightonly{rows: C.int64_t(w.Rows), columns: C.int64_t(w.Columns),
		outputs: C.int64_t(w.Outputs), group: C.int64_t(w.Group), bits: C.int32_t(w.Bits)}
	x, y, scale := (*C.float)(o.X), (*C.float)(o.Y), (*C.float)(o.Scale)
	part, threads := w.part(), C.int(w.Threads)
	if part == 0 {
		C.gx_weightonly_run(&c, y, x, o.Codes, scale, (*C.float)(o.Bias), threads)
		return nil
	}
	real := (*C.float)(scratch)
	for from := 0; from < w.Outputs; from += part {
		n := min(part, w.Outputs-from)
		C.gx_weightonly_expand(&c, real, o.Codes, scale, C.int64_t(from), C.int64_t(from+n), threads)
		g := Gemm{M: w.Rows, N: n, K: w.Columns, TransB: true, Alpha: 1, Threads: w.Threads}.c()
		g.ldc = c.outputs
		err := status(C.gx_sgemm((*C.float)(unsafe.Add(o.Y, 4*from)), x, real, &g, threads),
			"matrix product")
		if err != nil {
			return err
		}
	}
	if o.Bias != nil {
		C.gx_weightonly_bias(&c, y, (*C.float)(o.Bias), threads)
	}
	return nil
}
