//go:build cgo

package cpu

/*
#include "gemm.h"
#cgo noescape gx_pack
#cgo nocallback gx_pack
#cgo noescape gx_packed_gemm
#cgo nocallback gx_packed_gemm
*/
import "C"

import "unsafe"

// CanPack reports whether this processor computes with packed operands. Where it does not, the
// other methods for them must not be called.
func CanPack() bool { return C.gx_gemm_can() != 0 }

// Packed is the number of bytes of op(B) as Pack writes it.
func (g Gemm) Packed() int {
	p := g.c()
	return int(C.gx_packed_size(&p)) * 4
}

// Pack writes op(B) to d in the order in which RunPacked reads it; d must be 64-byte aligned. It
// pays for an operand that is used several times with few rows.
func (g Gemm) Pack(d, b unsafe.Pointer) {
	p := g.c()
	C.gx_pack((*C.float)(d), (*C.float)(b), &p, C.int(g.Threads))
}

// RunPacked is Run with an operand that Pack made for any number of rows. The bias, a row that is
// added to all of c, may be nil.
func (g Gemm) RunPacked(c, a, packed, bias unsafe.Pointer) {
	p := g.c()
	C.gx_packed_gemm((*C.float)(c), (*C.float)(a), (*C.float)(packed), (*C.float)(bias), &p,
		C.int(g.Threads))
}
