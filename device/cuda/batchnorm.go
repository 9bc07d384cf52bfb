//go:build cuda

package cuda

/*
#cgo noescape gcu_dnn_norm_run
#cgo nocallback gcu_dnn_norm_run
#cgo noescape gcu_dnn_norm_learn
#cgo nocallback gcu_dnn_norm_learn
#cgo noescape gcu_dnn_norm_back
#cgo nocallback gcu_dnn_norm_back
#include "layers.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
)

// Norm is batch normalization computed by cuDNN. Parameters and statistics are float64 for data of
// float64, otherwise float32.
type Norm struct{ l *layer }

// mostRows is the largest number of rows that cuDNN normalizes if inner is 1.
const mostRows = 1<<16 - 1

// NormDims are the extents of a normalization of [outer][channels][inner], or, with Last, of
// [outer][inner][channels].
type NormDims struct {
	Outer, Channels, Inner int
	Last                   bool
}

// NewNorm describes a normalization to cuDNN, or returns nil if the library is missing or does not
// support it.
func NewNorm(t, stat dtype.Type, d NormDims) *Norm {
	e, ok := dnnTypeOf(t)
	wide := dtype.Float32
	if t == dtype.Float64 {
		wide = t
	}
	if !ok || stat != wide || !whole(d.Outer, d.Channels, d.Inner) ||
		d.Inner == 1 && d.Outer > mostRows {
		return nil
	}
	const perElement, spatial = 0, 1
	mode := C.int(spatial)
	if d.Inner == 1 {
		mode = perElement
	}
	dims, last := [4]C.int{C.int(d.Outer), C.int(d.Channels), C.int(d.Inner), 1}, C.int(0)
	if d.Last {
		last = 1
	}
	l := newLayer(C.gcu_dnn_norm, "batch normalization", fmt.Sprint(t, " ", d),
		func(f *C.gcu_dnn, l *C.gcu_dnn_layer) C.int {
			return C.gcu_dnn_norm_make(f, e.number, mode, &dims[0], last, l)
		})
	if l == nil {
		return nil
	}
	return &Norm{l}
}

// NormArgs are the operands of a normalization.
type NormArgs struct {
	Out, X, DY, Gamma, Beta       unsafe.Pointer
	Mean, Var, Inv, DGamma, DBeta unsafe.Pointer
	Eps                           float64 // at least 0
}

func (a *NormArgs) c() C.gcu_dnn_norms {
	return C.gcu_dnn_norms{out: a.Out, x: a.X, dy: a.DY, gamma: a.Gamma, beta: a.Beta, mean: a.Mean,
		_var: a.Var, inv: a.Inv, dgamma: a.DGamma, dbeta: a.DBeta,
		eps: C.double(a.Eps)}
}

// bits returns the bits of the addresses of all operands, ORed.
func (a *NormArgs) bits() uintptr {
	return bitsOf(a.Out, a.X, a.DY, a.Gamma, a.Beta, a.Mean, a.Var, a.Inv, a.DGamma, a.DBeta)
}

// Infer normalizes X by Mean and Var. All methods return ErrNotServed if cuDNN does not support the
// layer; they have then done nothing.
func (n *Norm) Infer(q *Queue, a *NormArgs) error {
	k := a.c()
	return n.l.run(q, a.bits(), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_norm_run(f, ctx, h, n.l.c, &k)
	})
}

// Learn normalizes X by mean and variance of the batch. It writes the mean to Mean and
// 1/sqrt(variance + eps) to Inv. Out must not be X.
func (n *Norm) Learn(q *Queue, a *NormArgs) error {
	k := a.c()
	return n.l.run(q, a.bits(), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_norm_learn(f, ctx, h, n.l.c, &k)
	})
}

// Backward computes the gradients Out, DGamma and DBeta from DY and from the Mean and Inv of Learn.
// Out must not be X or DY.
func (n *Norm) Backward(q *Queue, a *NormArgs) error {
	k := a.c()
	return n.l.run(q, a.bits(), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_norm_back(f, ctx, h, n.l.c, &k)
	})
}
