//go:build cgo

package cpu

/*
#include "normblock.h"
#cgo noescape gx_bnb_scratch
#cgo nocallback gx_bnb_scratch
#cgo noescape gx_bnb_forward
#cgo nocallback gx_bnb_forward
#cgo noescape gx_bnb_grad
#cgo nocallback gx_bnb_grad
*/
import "C"

import "unsafe"

// BlockedNorm is BatchNorm for arrays in LayoutBlock16, Axis counting images, channels and pixels.
// Together with a sum and a rectifier after it, it computes y = rectify(norm(x) + sum).
type BlockedNorm struct {
	BatchNorm
	ReLU bool
	// Narrow says that X, Y, Sum, DX, DY and DSum are bfloat16; all else is float32.
	Narrow bool
}

// BlockedNormCall holds the operands of BlockedNorm.Run; Sum and the outputs but the moving
// averages may be nil.
type BlockedNormCall struct {
	Norm
	Sum, Scratch unsafe.Pointer
}

// BlockedNormGradCall holds the operands of BlockedNorm.RunGrad. The outputs DX, DGamma, DBeta and
// DSum may be nil; DSum may share the memory of DY, DX may share the memory of DY or X. With ReLU
// RunGrad uses Y to find the elements that the rectifier cut off. Where Y is nil it computes them
// from Beta, which needs a norm without a sum.
type BlockedNormGradCall struct {
	NormGrad
	Beta, Y, DSum, Scratch unsafe.Pointer
}

// Scratch returns the bytes of scratch memory of Run and RunGrad, to be aligned to 64.
func (b BlockedNorm) Scratch() int {
	p := b.c()
	return int(C.gx_bnb_scratch(&p))
}

// Run normalizes; X or Sum may be the memory of Y.
func (b BlockedNorm) Run(o BlockedNormCall) {
	k := C.gx_bnb{p: b.c(), relu: C.int32_t(boolInt(b.ReLU)),
		narrow: C.int32_t(boolInt(b.Narrow)), y: o.Y,
		mean: (*C.float)(o.Mean), inv: (*C.float)(o.Inv),
		moving_mean: (*C.float)(o.MovingMean), moving_var: (*C.float)(o.MovingVar),
		x: o.X, gamma: (*C.float)(o.Gamma),
		beta: (*C.float)(o.Beta), sum: o.Sum, scratch: o.Scratch}
	C.gx_bnb_forward(k, C.int(b.Threads))
}

// RunGrad computes gradients.
func (b BlockedNorm) RunGrad(o BlockedNormGradCall) {
	k := C.gx_bnb{p: b.c(), relu: C.int32_t(boolInt(b.ReLU)),
		narrow: C.int32_t(boolInt(b.Narrow)), y: o.Y,
		mean: (*C.float)(o.Mean), inv: (*C.float)(o.Inv),
		dx: o.DX, dgamma: (*C.float)(o.DGamma), dbeta: (*C.float)(o.DBeta),
		dsum: o.DSum, x: o.X,
		gamma: (*C.float)(o.Gamma), beta: (*C.float)(o.Beta), dy: o.DY,
		scratch: o.Scratch}
	C.gx_bnb_grad(k, C.int(b.Threads))
}
