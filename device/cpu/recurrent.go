//go:build cgo

package cpu

/*
#include "recurrent.h"
#cgo noescape gx_lstm
#cgo nocallback gx_lstm
#cgo noescape gx_lstm_grad
#cgo nocallback gx_lstm_grad
#cgo noescape gx_gru
#cgo nocallback gx_gru
#cgo noescape gx_gru_grad
#cgo nocallback gx_gru_grad
*/
import "C"

import "unsafe"

// Cells are the cells of a recurrent layer at one step of Batch sequences. Operands are matrices with a row per
// sequence: of Hidden numbers, or of as many for each gate in the order i, f, g, o (LSTM) and r, z, n (GRU).
type Cells struct {
	Batch, Hidden int
	Threads       int
}

// CellStep has the operands of a step.
type CellStep struct {
	Gates unsafe.Pointer // sums that become activated gates
	State unsafe.Pointer // of a GRU: the part of the sums that comes from the state
	Extra unsafe.Pointer // of an LSTM the new memory, of a GRU what the reset gate multiplies
	Out   unsafe.Pointer // output
	Prev  unsafe.Pointer // of an LSTM the memory before the step, of a GRU the output
}

// CellGrads has the gradients of a step.
type CellGrads struct {
	Out   unsafe.Pointer // of the output
	Gates unsafe.Pointer // of the sums
	State unsafe.Pointer // of a GRU: of the part that comes from the state
	Prev  unsafe.Pointer // of an LSTM that of the new memory, which becomes that of the one before; of a GRU what goes past the gates to the output before
}

func (k Cells) c() C.gx_cells { return C.gx_cells{batch: C.int64_t(k.Batch), n: C.int64_t(k.Hidden)} }

// LSTM activates the gates and computes memory and output.
func (k Cells) LSTM(s CellStep) {
	c := k.c()
	C.gx_lstm((*C.float)(s.Gates), (*C.float)(s.Extra), (*C.float)(s.Out), (*C.float)(s.Prev), &c, C.int(k.Threads))
}

// LSTMGrad computes gradients from the activated gates and both memories.
func (k Cells) LSTMGrad(s CellStep, d CellGrads) {
	c := k.c()
	C.gx_lstm_grad((*C.float)(d.Gates), (*C.float)(d.Prev), (*C.float)(d.Out), (*C.float)(s.Gates), (*C.float)(s.Extra), (*C.float)(s.Prev), &c,
		C.int(k.Threads))
}

// GRU activates the gates and computes the output.
func (k Cells) GRU(s CellStep) {
	c := k.c()
	C.gx_gru((*C.float)(s.Gates), (*C.float)(s.Extra), (*C.float)(s.Out), (*C.float)(s.State), (*C.float)(s.Prev), &c, C.int(k.Threads))
}

// GRUGrad computes gradients from what GRU left.
func (k Cells) GRUGrad(s CellStep, d CellGrads) {
	c := k.c()
	C.gx_gru_grad((*C.float)(d.Gates), (*C.float)(d.State), (*C.float)(d.Prev), (*C.float)(d.Out), (*C.float)(s.Gates), (*C.float)(s.Extra),
		(*C.float)(s.Prev), &c, C.int(k.Threads))
}
