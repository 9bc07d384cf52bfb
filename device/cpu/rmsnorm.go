//go:build cgo

package cpu

/*
#include "rmsnorm.h"
#cgo noescape gx_rmsnorm_forward
#cgo nocallback gx_rmsnorm_forward
#cgo noescape gx_rmsnorm_grad
#cgo nocallback gx_rmsnorm_grad
*/
import "C"

import "unsafe"

// RMSNorm divides Rows rows of N elements each, N > 0, by the root of the mean of their squares
// plus Eps, and multiplies them by N numbers gamma.
type RMSNorm struct {
	Rows, N int
	Eps     float32
	Threads int
}

func (k *RMSNorm) c() C.gx_rmsnorm {
	return C.gx_rmsnorm{rows: C.int64_t(k.Rows), n: C.int64_t(k.N), eps: C.float(k.Eps)}
}

// Run writes the rows to y and their roots to rms; each of the two may be nil, and y may be x.
func (k *RMSNorm) Run(y, rms, x, gamma unsafe.Pointer) {
	p := k.c()
	C.gx_rmsnorm_forward((*C.float)(y), (*C.float)(rms), (*C.float)(x), (*C.float)(gamma), &p,
		C.int(k.Threads))
}

// RMSNormGrads holds the operands of RMSNorm.RunGrad. The outputs DX and DGamma may be nil; DX may
// be the memory of DY.
type RMSNormGrads struct {
	DX, DGamma, DY, X, Gamma, RMS unsafe.Pointer
}

// RunGrad computes gradients.
func (k *RMSNorm) RunGrad(o *RMSNormGrads) {
	p := k.c()
	C.gx_rmsnorm_grad((*C.float)(o.DX), (*C.float)(o.DGamma), (*C.float)(o.DY), (*C.float)(o.X),
		(*C.float)(o.Gamma), (*C.float)(o.RMS), &p, C.int(k.Threads))
}
