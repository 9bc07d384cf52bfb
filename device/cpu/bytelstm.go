//go:build cgo

package cpu

/*
#include "bytelstm.h"
#cgo noescape gx_bytelstm_run
#cgo nocallback gx_bytelstm_run
#cgo noescape gx_bytelstm_scratch
#cgo nocallback gx_bytelstm_scratch
*/
import "C"

import "unsafe"

// ByteLSTM goes through all steps of an LSTM whose weights of states are integers of 8 bits. Each
// step rounds the states of a direction to 8 bits of their range and multiplies integers, with exact
// sums. See bytelstm.h for the operands.
type ByteLSTM struct {
	Steps, Batch, Hidden, Directions int
	Back                             bool // the first direction begins at the last step
	Threads                          int
}

// MostByteLSTM is the greatest Hidden whose sums do not exceed 32 bits.
const MostByteLSTM = C.GX_BYTELSTM_MOST

// ByteLSTMOperands holds the operands of ByteLSTM.Run. Y, H and C are outputs, which may be nil.
type ByteLSTMOperands struct{ X, Codes, Scale, H0, C0, Y, H, C unsafe.Pointer }

func (l *ByteLSTM) c() C.gx_bytelstm {
	g := C.gx_bytelstm{steps: C.int64_t(l.Steps), batch: C.int64_t(l.Batch),
		n: C.int64_t(l.Hidden), dirs: C.int64_t(l.Directions)}
	if l.Back {
		g.back = 1
	}
	return g
}

// Scratch returns the bytes of scratch memory that Run needs.
func (l *ByteLSTM) Scratch() int {
	g := l.c()
	return int(C.gx_bytelstm_scratch(&g))
}

// Run computes the layer.
func (l *ByteLSTM) Run(o ByteLSTMOperands, scratch unsafe.Pointer) {
	g := l.c()
	a := C.gx_bytelstm_arrays{x: (*C.float)(o.X), scale: (*C.float)(o.Scale),
		h0: (*C.float)(o.H0), c0: (*C.float)(o.C0), codes: (*C.int8_t)(o.Codes),
		y: (*C.float)(o.Y), h: (*C.float)(o.H), c: (*C.float)(o.C)}
	C.gx_bytelstm_run(&g, &a, scratch, C.int(l.Threads))
}
