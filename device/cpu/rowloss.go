//go:build cgo

package cpu

/*
#include "rowloss.h"
#cgo noescape gx_row_loss_room
#cgo nocallback gx_row_loss_room
#cgo noescape gx_row_loss_run
#cgo nocallback gx_row_loss_run
*/
import "C"

import "unsafe"

// RowLoss is a dense layer of one output, a regression loss on it, and the gradients of the layer's
// weight and bias: one pass over the data makes all.
type RowLoss struct {
	Rows, In int
	Sigmoid  bool // the output is the sigmoid of the layer's result, not the result itself
	// the gradient is the sign of the difference of output and label, not the difference
	Sign    bool
	Threads int
}

// RowGrads are the results of a RowLoss; nil for those that nobody wants.
type RowGrads struct{ Output, Weight, Bias unsafe.Pointer }

// RowArgs are the operands of a RowLoss; Bias may be nil.
type RowArgs struct{ Data, Weight, Bias, Label unsafe.Pointer }

func (l RowLoss) c() C.gx_row_loss {
	return C.gx_row_loss{rows: C.int64_t(l.Rows), in: C.int64_t(l.In), sigmoid: boolInt(l.Sigmoid),
		sign: boolInt(l.Sign)}
}

// Scratch is the number of bytes that Run needs for itself.
func (l RowLoss) Scratch() int {
	p := l.c()
	return int(C.gx_row_loss_room(&p, C.int(l.Threads))) * 4
}

// Run computes the results.
func (l RowLoss) Run(g RowGrads, a RowArgs, scratch unsafe.Pointer) {
	p := l.c()
	C.gx_row_loss_run((*C.float)(g.Output), (*C.float)(g.Weight), (*C.float)(g.Bias),
		(*C.float)(a.Data), (*C.float)(a.Weight), (*C.float)(a.Bias),
		(*C.float)(a.Label), &p, (*C.float)(scratch), C.int(l.Threads))
}
