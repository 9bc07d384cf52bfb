//go:build cgo

package cpu

/*
#include "rownorm.h"
#cgo noescape gx_rownorm_forward
#cgo nocallback gx_rownorm_forward
#cgo noescape gx_rownorm_grad
#cgo nocallback gx_rownorm_grad
*/
import "C"

import "unsafe"

// RowNorm normalizes Rows rows of N elements each to mean zero and variance one. Gamma and beta
// have Params elements: one for each element of a row where PerElement is set, otherwise row r
// takes number r % Params.
type RowNorm struct {
	Rows, N, Params int
	PerElement      bool
	Narrow          bool // data, result and their gradients are bfloat16, all else is float32
	Eps             float32
	Threads         int
}

func (k *RowNorm) c() C.gx_rownorm {
	return C.gx_rownorm{rows: C.int64_t(k.Rows), n: C.int64_t(k.N), params: C.int64_t(k.Params),
		per_element: C.int32_t(boolInt(k.PerElement)), narrow: C.int32_t(boolInt(k.Narrow)),
		eps: C.float(k.Eps)}
}

// RowNormed holds the operands of RowNorm.Run. The outputs Y, Mean and Std may be nil; Y may be the
// memory of X.
type RowNormed struct {
	Y, Mean, Std, X, Gamma, Beta unsafe.Pointer
}

// Run normalizes.
func (k *RowNorm) Run(o *RowNormed) {
	p := k.c()
	C.gx_rownorm_forward(o.Y, (*C.float)(o.Mean), (*C.float)(o.Std), o.X,
		(*C.float)(o.Gamma), (*C.float)(o.Beta), &p, C.int(k.Threads))
}

// RowNormGrads holds the operands of RowNorm.RunGrad. The outputs DX, DGamma and DBeta may be nil;
// DX may be the memory of DY.
type RowNormGrads struct {
	DX, DGamma, DBeta, DY, X, Gamma, Mean, Std unsafe.Pointer
}

// GradScratch returns the bytes of scratch memory that RunGrad needs.
func (k *RowNorm) GradScratch() int { return 8 * k.Rows }

// RunGrad computes gradients.
func (k *RowNorm) RunGrad(o *RowNormGrads, scratch unsafe.Pointer) {
	p := k.c()
	C.gx_rownorm_grad(o.DX, (*C.float)(o.DGamma), (*C.float)(o.DBeta), o.DY, o.X,
		(*C.float)(o.Gamma),
		(*C.float)(o.Mean), (*C.float)(o.Std), &p, (*C.float)(scratch), C.int(k.Threads))
}
