//go:build cgo

package cpu

/*
#include "matmul.h"
#cgo noescape gx_matmul_program
#cgo nocallback gx_matmul_program
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// Matrices says how the matrices of an operand lie: the distances in elements between rows and
// columns of one, between the matrices of a batch, and between batches.
type Matrices struct{ Row, Col, Inner, Outer int }

func (m Matrices) c() C.gx_grid {
	return C.gx_grid{row: C.int64_t(m.Row), col: C.int64_t(m.Col), inner: C.int64_t(m.Inner),
		outer: C.int64_t(m.Outer)}
}

// MatmulSpec describes the products C = Alpha·A·B + Beta·C + bias of Outer batches of Inner
// matrices, where C is M×N and A is M×K. A and B are bfloat16; sums are float32.
type MatmulSpec struct {
	M, N, K, Inner, Outer int
	A, B, C               Matrices
	Alpha, Beta           float32
	Bias                  bool       // a row of N numbers of type Out
	ReLU                  bool       // negative results become 0
	Out                   dtype.Type // of C: Float32 or BFloat16
	Threads               int
}

// Matmul is a product of bfloat16 matrices ready to run.
type Matmul struct{ *Program }

// NewMatmul prepares a product. It fails where the library has no fast kernel for it.
func NewMatmul(s MatmulSpec) (Matmul, error) {
	var prog *C.gx_prog
	g := C.gx_matmul{m: C.int64_t(s.M), n: C.int64_t(s.N), k: C.int64_t(s.K),
		inner: C.int64_t(s.Inner), outer: C.int64_t(s.Outer), a: s.A.c(), b: s.B.c(), c: s.C.c(),
		alpha: C.float(s.Alpha), beta: C.float(s.Beta), bias: C.int32_t(boolInt(s.Bias)),
		relu: C.int32_t(boolInt(s.ReLU)), out: elementType(s.Out)}
	code := C.gx_matmul_program(&prog, &g, C.int(s.Threads))
	p, err := newProgram("product of bfloat16 matrices", prog, code)
	return Matmul{p}, err
}

// Run multiplies a and b to c; bias is read if the product has one.
func (k Matmul) Run(c, a, b, bias, scratch unsafe.Pointer) error {
	return k.run([6]unsafe.Pointer{a, b, bias, c}, scratch)
}

// Narrow returns the products of g for bfloat16 matrices in batches of count that follow one
// another without gaps, with a result of type out.
func (g Gemm) Narrow(count int, out dtype.Type) MatmulSpec {
	s := MatmulSpec{M: g.M, N: g.N, K: g.K, Inner: count, Outer: 1, Alpha: g.Alpha, Beta: g.Beta,
		A:   Matrices{Row: g.K, Col: 1, Inner: g.M * g.K},
		B:   Matrices{Row: g.N, Col: 1, Inner: g.K * g.N},
		C:   Matrices{Row: g.N, Col: 1, Inner: g.M * g.N},
		Out: out, Threads: g.Threads}
	if g.TransA {
		s.A.Row, s.A.Col = 1, g.M
	}
	if g.TransB {
		s.B.Row, s.B.Col = 1, g.K
	}
	return s
}

// elementType returns the code of an element type of programs in C.
func elementType(t dtype.Type) C.int32_t {
	switch t {
	case dtype.BFloat16:
		return C.GX_BFLOAT
	case dtype.Uint8:
		return C.GX_UINT8
	case dtype.Int8:
		return C.GX_INT8
	}
	return C.GX_FLOAT
}
