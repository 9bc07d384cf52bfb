//go:build cgo

package cpu

/*
#include "softmax.h"
#cgo noescape gx_softmax
#cgo nocallback gx_softmax
#cgo noescape gx_softmax_narrow
#cgo nocallback gx_softmax_narrow
#cgo noescape gx_softmax_narrow_grad
#cgo nocallback gx_softmax_narrow_grad
#cgo noescape gx_bias_softmax
#cgo nocallback gx_bias_softmax
#cgo noescape gx_softmax_grad
#cgo nocallback gx_softmax_grad
#cgo noescape gx_softmax_loss_grad
#cgo nocallback gx_softmax_loss_grad
*/
import "C"

import "unsafe"

// Softmax normalizes exponentials along an axis.
type Softmax struct {
	Axis        Axis3
	Temperature float32
	Log         bool // the logarithm of the softmax
	Narrow      bool // of bfloat16 arrays, for axes that CanNarrow; there is no RunBiased
	Threads     int
}

// Run writes the softmax of x to d; they may be the same memory.
func (s Softmax) Run(d, x unsafe.Pointer) {
	if s.Narrow {
		C.gx_softmax_narrow((*C.uint16_t)(d), (*C.uint16_t)(x), C.int64_t(s.Axis.Outer),
			C.int64_t(s.Axis.N), C.float(s.Temperature), boolInt(s.Log), C.int(s.Threads))
		return
	}
	C.gx_softmax((*C.float)(d), (*C.float)(x), C.int64_t(s.Axis.Outer), C.int64_t(s.Axis.N),
		C.int64_t(s.Axis.Inner), C.float(s.Temperature), boolInt(s.Log), C.int(s.Threads))
}

// CanNarrow reports whether Narrow serves the axis: it is the last one, and not too long.
func (s Softmax) CanNarrow() bool { return s.Axis.Inner == 1 && s.Axis.N <= C.GX_NARROW_ROW }

// RunBiased writes the softmax of x + bias, a number for each position along the axis, to d, which
// may be x. It wants Inner = 1, Temperature = 1 and no Log.
func (s Softmax) RunBiased(d, x, bias unsafe.Pointer) {
	C.gx_bias_softmax((*C.float)(d), (*C.float)(x), (*C.float)(bias), C.int64_t(s.Axis.Outer),
		C.int64_t(s.Axis.N), C.int(s.Threads))
}

// RunGrad writes the gradient of the input, dx, from the output y and its gradient dy.
func (s Softmax) RunGrad(dx, dy, y unsafe.Pointer) {
	if s.Narrow {
		C.gx_softmax_narrow_grad((*C.uint16_t)(dx), (*C.uint16_t)(dy), (*C.uint16_t)(y),
			C.int64_t(s.Axis.Outer), C.int64_t(s.Axis.N), C.float(s.Temperature), boolInt(s.Log),
			C.int(s.Threads))
		return
	}
	C.gx_softmax_grad((*C.float)(dx), (*C.float)(dy), (*C.float)(y), C.int64_t(s.Axis.Outer),
		C.int64_t(s.Axis.N), C.int64_t(s.Axis.Inner),
		C.float(s.Temperature), boolInt(s.Log), C.int(s.Threads))
}

func boolInt(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// SoftmaxLoss is the gradient of cross entropy over a softmax with integer labels.
type SoftmaxLoss struct {
	Axis      Axis3   // labels have shape (Outer, Inner)
	Scale     float32 // of the gradient
	Smooth    float32 // share of the label that the other classes get
	Ignore    int     // a label
	UseIgnore bool    // that label has no gradient
	Valid     bool    // divide by the number of other labels
	Threads   int
}

func (s SoftmaxLoss) c() C.gx_softmax_loss {
	return C.gx_softmax_loss{outer: C.int64_t(s.Axis.Outer), n: C.int64_t(s.Axis.N),
		inner: C.int64_t(s.Axis.Inner),
		scale: C.float(s.Scale), smooth: C.float(s.Smooth), ignore: C.int64_t(s.Ignore),
		use_ignore: C.int32_t(boolInt(s.UseIgnore)), valid: C.int32_t(boolInt(s.Valid))}
}

// RunGrad writes the gradient of the logits from the softmax y and the labels.
func (s SoftmaxLoss) RunGrad(dx, y, label unsafe.Pointer) {
	p := s.c()
	C.gx_softmax_loss_grad((*C.float)(dx), (*C.float)(y), (*C.float)(label), &p, C.int(s.Threads))
}
