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
#cgo noescape gx_lstm_steps
#cgo nocallback gx_lstm_steps
#cgo noescape gx_lstm_steps_grad
#cgo nocallback gx_lstm_steps_grad
*/
import "C"

import "unsafe"

// Cells are the cells of a recurrent layer at one step of Batch sequences. Operands are matrices
// with a row per sequence: of Hidden numbers, or of as many for each gate in the order i, f, g, o
// (LSTM) and r, z, n (GRU).
type Cells struct {
	Batch, Hidden int
	Threads       int
}

// CellStep has the operands of a step.
type CellStep struct {
	Gates unsafe.Pointer // sums that become activated gates
	State unsafe.Pointer // of a GRU: the part of the sums that comes from the state
	// of an LSTM the new memory, of a GRU the term that the reset gate multiplies
	Extra unsafe.Pointer
	Out   unsafe.Pointer // output
	Prev  unsafe.Pointer // of an LSTM the memory before the step, of a GRU the output
}

// CellGrads has the gradients of a step.
type CellGrads struct {
	Out   unsafe.Pointer // of the output
	Gates unsafe.Pointer // of the sums
	State unsafe.Pointer // of a GRU: of the part that comes from the state
	// of an LSTM: on entry the gradient of the new memory, on return the gradient of the memory
	// before the step; of a GRU: the share of the gradient of the output before the step that does
	// not pass through the gates
	Prev unsafe.Pointer
}

func (k Cells) c() C.gx_cells {
	return C.gx_cells{batch: C.int64_t(k.Batch), n: C.int64_t(k.Hidden)}
}

// LSTM activates the gates and computes memory and output.
func (k Cells) LSTM(s CellStep) {
	c := k.c()
	C.gx_lstm((*C.float)(s.Gates), (*C.float)(s.Extra), (*C.float)(s.Out), (*C.float)(s.Prev), &c,
		C.int(k.Threads))
}

// LSTMGrad computes gradients from the activated gates and both memories.
func (k Cells) LSTMGrad(s CellStep, d CellGrads) {
	c := k.c()
	C.gx_lstm_grad((*C.float)(d.Gates), (*C.float)(d.Prev), (*C.float)(d.Out), (*C.float)(s.Gates),
		(*C.float)(s.Extra), (*C.float)(s.Prev), &c, C.int(k.Threads))
}

// GRU activates the gates and computes the output.
func (k Cells) GRU(s CellStep) {
	c := k.c()
	C.gx_gru((*C.float)(s.Gates), (*C.float)(s.Extra), (*C.float)(s.Out), (*C.float)(s.State),
		(*C.float)(s.Prev), &c, C.int(k.Threads))
}

// GRUGrad computes gradients from the activated gates and the term that the reset gate multiplies,
// which GRU left in Gates and Extra.
func (k Cells) GRUGrad(s CellStep, d CellGrads) {
	c := k.c()
	C.gx_gru_grad((*C.float)(d.Gates), (*C.float)(d.State), (*C.float)(d.Prev), (*C.float)(d.Out),
		(*C.float)(s.Gates), (*C.float)(s.Extra), (*C.float)(s.Prev), &c, C.int(k.Threads))
}

// Sequence is a layer of an LSTM over Steps steps of Batch sequences, last step first when it goes
// Back. Only where CanPack.
type Sequence struct {
	Steps, Batch, Hidden int
	Back                 bool
	Threads              int
}

// SequenceState has the operands of a layer, which have a block of Batch rows per step.
type SequenceState struct {
	Packed unsafe.Pointer // weights from the state, packed for the product of Run or of RunGrad
	Gates  unsafe.Pointer // sums that come from the input; they become activated gates
	Bias   unsafe.Pointer // added to the sums of every step; the gradient does not read it
	Memory unsafe.Pointer
	Out    unsafe.Pointer
	Mem0   unsafe.Pointer // memory and output before the first step
	Out0   unsafe.Pointer // the gradient does not read it, nor Out
}

// SequenceGrads has the gradients of a layer.
type SequenceGrads struct {
	Gates unsafe.Pointer // of the sums, for all steps
	// of the last memory and output on entry, of Mem0 and Out0 on return
	Mem unsafe.Pointer
	Out unsafe.Pointer
	Y   unsafe.Pointer // of the outputs of all steps
	Row int            // floats from row to row of Y
}

func (q Sequence) c(row int) C.gx_steps {
	return C.gx_steps{steps: C.int64_t(q.Steps), batch: C.int64_t(q.Batch), n: C.int64_t(q.Hidden),
		back: C.int32_t(boolInt(q.Back)), dy_row: C.int64_t(row)}
}

// Run goes through all steps.
func (q Sequence) Run(s SequenceState) {
	c := q.c(0)
	C.gx_lstm_steps((*C.float)(s.Gates), (*C.float)(s.Memory), (*C.float)(s.Out),
		(*C.float)(s.Packed), (*C.float)(s.Bias), (*C.float)(s.Mem0), (*C.float)(s.Out0), &c,
		C.int(q.Threads))
}

// RunGrad goes back through all steps.
func (q Sequence) RunGrad(s SequenceState, g SequenceGrads) {
	c := q.c(g.Row)
	C.gx_lstm_steps_grad((*C.float)(g.Gates), (*C.float)(g.Mem), (*C.float)(g.Out), (*C.float)(g.Y),
		(*C.float)(s.Gates), (*C.float)(s.Memory),
		(*C.float)(s.Packed), (*C.float)(s.Mem0), &c, C.int(q.Threads))
}
