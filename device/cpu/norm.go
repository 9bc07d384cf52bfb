//go:build cgo

package cpu

/*
#include "norm.h"
#cgo noescape gx_bn_forward
#cgo nocallback gx_bn_forward
#cgo noescape gx_bn_grad
#cgo nocallback gx_bn_grad
*/
import "C"

import "unsafe"

// BatchNorm normalizes the channels of (Outer, N, Inner), N being their number.
type BatchNorm struct {
	Axis          Axis3
	Eps, Momentum float32
	FixGamma      bool // gamma counts as one and has gradient zero
	Learn         bool // use and record the statistics of the batch
	Threads       int
}

// Norm holds the operands of BatchNorm.Run. Mean and Inv are the statistics used; they and Y, the
// outputs, may be nil.
type Norm struct {
	Y, Mean, Inv, X, Gamma, Beta, MovingMean, MovingVar unsafe.Pointer
}

// NormGrad holds the operands of BatchNorm.RunGrad. The outputs DX, DGamma and DBeta may be nil.
type NormGrad struct {
	DX, DGamma, DBeta, DY, X, Gamma, Mean, Inv unsafe.Pointer
}

func (b BatchNorm) c() C.gx_bn {
	return C.gx_bn{n: C.int64_t(b.Axis.Outer), c: C.int64_t(b.Axis.N),
		inner: C.int64_t(b.Axis.Inner), eps: C.float(b.Eps),
		momentum: C.float(b.Momentum), fix_gamma: C.int32_t(boolInt(b.FixGamma)),
		learn: C.int32_t(boolInt(b.Learn))}
}

// Run normalizes; X and Y may be the same memory.
func (b BatchNorm) Run(o Norm) {
	p := b.c()
	C.gx_bn_forward((*C.float)(o.Y), (*C.float)(o.Mean), (*C.float)(o.Inv), (*C.float)(o.X),
		(*C.float)(o.Gamma), (*C.float)(o.Beta),
		(*C.float)(o.MovingMean), (*C.float)(o.MovingVar), &p, C.int(b.Threads))
}

// RunGrad computes gradients; DY and DX may be the same memory.
func (b BatchNorm) RunGrad(o NormGrad) {
	p := b.c()
	C.gx_bn_grad((*C.float)(o.DX), (*C.float)(o.DGamma), (*C.float)(o.DBeta), (*C.float)(o.DY),
		(*C.float)(o.X), (*C.float)(o.Gamma),
		(*C.float)(o.Mean), (*C.float)(o.Inv), &p, C.int(b.Threads))
}
