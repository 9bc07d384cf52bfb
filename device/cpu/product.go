//go:build cgo

package cpu

/*
#include "product.h"
#cgo noescape gx_sgemm
#cgo nocallback gx_sgemm
#cgo noescape gx_batch_sgemm
#cgo nocallback gx_batch_sgemm
#cgo noescape gx_grid_sgemm
#cgo nocallback gx_grid_sgemm
#cgo noescape gx_dense
#cgo nocallback gx_dense
*/
import "C"

import "unsafe"

// Gemm is the product C = Alpha·op(A)·op(B) + Beta·C of dense row-major float32 matrices, where C
// is M×N and op(A) M×K.
type Gemm struct {
	M, N, K        int
	TransA, TransB bool
	Alpha, Beta    float32
	Threads        int
}

func (g Gemm) c() C.gx_gemm {
	r := C.gx_gemm{m: C.int64_t(g.M), n: C.int64_t(g.N), k: C.int64_t(g.K), lda: C.int64_t(g.K),
		ldb: C.int64_t(g.N), ldc: C.int64_t(g.N),
		alpha: C.float(g.Alpha), beta: C.float(g.Beta)}
	if g.TransA {
		r.ta, r.lda = 1, r.m
	}
	if g.TransB {
		r.tb, r.ldb = 1, r.k
	}
	return r
}

// Run multiplies a and b to c.
func (g Gemm) Run(c, a, b unsafe.Pointer) error {
	p := g.c()
	return status(C.gx_sgemm((*C.float)(c), (*C.float)(a), (*C.float)(b), &p, C.int(g.Threads)),
		"matrix product")
}

// RunBatch multiplies count pairs of matrices that follow one another without gaps.
func (g Gemm) RunBatch(c, a, b unsafe.Pointer, count int) error {
	p := g.c()
	return status(C.gx_batch_sgemm((*C.float)(c), (*C.float)(a), (*C.float)(b), &p,
		C.int64_t(count), C.int64_t(g.M*g.K), C.int64_t(g.K*g.N),
		C.int64_t(g.M*g.N), C.int(g.Threads)), "batch of matrix products")
}

// Grid places the matrices of an operand: rows Row elements apart, the matrices of one batch Inner
// and batches Outer.
type Grid struct {
	Data              unsafe.Pointer
	Row, Inner, Outer int
}

func (m Grid) step() C.gx_step {
	return C.gx_step{inner: C.int64_t(m.Inner), outer: C.int64_t(m.Outer)}
}

// RunGrid multiplies inner pairs of matrices in each of outer batches.
func (g Gemm) RunGrid(c, a, b Grid, outer, inner int) error {
	p := g.c()
	p.lda, p.ldb, p.ldc = C.int64_t(a.Row), C.int64_t(b.Row), C.int64_t(c.Row)
	return status(C.gx_grid_sgemm((*C.float)(c.Data), (*C.float)(a.Data), (*C.float)(b.Data), &p,
		C.int64_t(outer), C.int64_t(inner), a.step(), b.step(),
		c.step(), C.int(g.Threads)), "matrix products")
}

// Dense is the affine layer y = x·wᵀ + bias with x of shape (Rows, In) and w of shape (Out, In).
type Dense struct {
	Rows, In, Out int
	Threads       int
}

// Run computes y; bias may be nil.
func (d Dense) Run(y, x, w, bias unsafe.Pointer) error {
	return status(C.gx_dense((*C.float)(y), (*C.float)(x), (*C.float)(w), (*C.float)(bias),
		C.int64_t(d.Rows), C.int64_t(d.In), C.int64_t(d.Out), C.int(d.Threads)), "dense layer")
}
