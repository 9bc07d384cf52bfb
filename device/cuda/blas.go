//go:build cuda

package cuda

/*
#cgo nocallback gcu_blas_gemm
#cgo noescape gcu_blas_gemm
#include "blas.h"
*/
import "C"

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/dtype"
)

// blasNames lists the file names of cuBLAS, the newest first.
var blasNames = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}

// theBlas opens cuBLAS at the first use. Without it kernels/product.cu computes products.
var theBlas = sync.OnceValues(func() (*C.gcu_blas, error) {
	lib, err := OpenLibrary("cuBLAS, which makes products of matrices fast,", blasNames)
	if err != nil {
		return nil, err
	}
	f := new(C.gcu_blas)
	var missing *C.char
	if C.gcu_blas_load(lib, f, &missing) != 0 {
		return nil, fmt.Errorf("cuda: cuBLAS has no function %s", C.GoString(missing))
	}
	return f, nil
})

// BLAS returns nil if cuBLAS computes products, otherwise the reason why it does not.
func BLAS() error {
	_, err := theBlas()
	return err
}

// wholeF32 is true if products of float32 must not round their operands to ten bits of mantissa.
var wholeF32 atomic.Bool

// AllowTF32 says whether products and convolutions of float32, by cuBLAS and cuDNN, may round their
// operands to the TF32 format of tensor cores, with ten bits of mantissa and sums in float32. It
// applies to convolutions that are prepared later, and to queues that have not computed a product
// yet. The default is yes, as in torch for convolutions: tensor cores are many times as fast, and
// training does not need the other bits. Devices before compute capability 8.0 have no TF32.
func AllowTF32(yes bool) { wholeF32.Store(!yes) }

// blasHandle is cuBLAS's handle for one queue, made at the first product.
type blasHandle struct {
	once   sync.Once
	handle unsafe.Pointer
	err    error
	lt     ltHandle
}

// Dims are the extents of a product: batches of M×K by K×N matrices.
type Dims struct{ Batch, M, N, K int }

// Gemm is a product that cuBLAS computes.
type Gemm struct {
	g C.gcu_gemm
	d Dims
}

// The library's numbers for element types and arithmetic.
const (
	typeF32, typeF64, typeF16, typeBF16 = 0, 1, 2, 14
	computeF32, computeF64              = 68, 70
	mathDefault, mathTF32               = 0, 3
	// Sums of products of 16-bit numbers stay float32, also where the library splits them.
	mathWideSums = 16
)

// NewGemm returns a product for cuBLAS, nil if cuBLAS does not support the strides or the type.
// layout holds row, column and batch strides of A, B and C, in elements.
func NewGemm(t dtype.Type, d Dims, layout [3][3]int, alpha, beta float64) *Gemm {
	g := &Gemm{d: d}
	g.g.compute = computeF32
	switch t {
	case dtype.Float32:
		g.g._type = typeF32
	case dtype.Float64:
		g.g._type, g.g.compute, g.g.doubles = typeF64, computeF64, 1
	case dtype.Float16:
		g.g._type = typeF16
	case dtype.BFloat16:
		g.g._type = typeBF16
	default:
		return nil
	}
	// cuBLAS stores matrices column by column, so it computes the transposed product, Bᵀ·Aᵀ.
	a, b, c := layout[0], layout[1], layout[2]
	ta, lda, ok1 := columns(a, d.M, d.K)
	tb, ldb, ok2 := columns(b, d.K, d.N)
	if !ok1 || !ok2 || c[1] != 1 || c[0] < d.N || d.K == 0 {
		return nil
	}
	for _, n := range []int{d.M, d.N, d.K, d.Batch, lda, ldb, c[0]} {
		if n > math.MaxInt32 {
			return nil
		}
	}
	g.g.ta, g.g.tb = C.int(tb), C.int(ta)
	g.g.m, g.g.n, g.g.k, g.g.batch = C.int(d.N), C.int(d.M), C.int(d.K), C.int(d.Batch)
	g.g.lda, g.g.ldb, g.g.ldc = C.int(ldb), C.int(lda), C.int(c[0])
	g.g.sa, g.g.sb, g.g.sc = C.longlong(b[2]), C.longlong(a[2]), C.longlong(c[2])
	g.g.alpha, g.g.beta = C.double(alpha), C.double(beta)
	return g
}

// columns returns the arguments with which cuBLAS, which takes rows as columns, reads a matrix:
// transposed is 0 or 1, leading is the stride. ok is false if neither works.
func columns(m [3]int, rows, cols int) (transposed, leading int, ok bool) {
	switch {
	case m[1] == 1 && m[0] >= cols:
		return 0, max(m[0], 1), true
	case m[0] == 1 && m[1] >= rows:
		return 1, max(m[1], 1), true
	}
	return 0, 0, false
}

// Run puts the product on q; done is false if cuBLAS is missing.
func (g *Gemm) Run(q *Queue, a, b, c unsafe.Pointer) (done bool, err error) {
	f, err := theBlas()
	if err != nil {
		return false, nil
	}
	if q.blas.handle == nil && q.tape.refuses() {
		return true, errNotRecorded
	}
	q.blas.once.Do(func() { q.blas.handle, q.blas.err = q.openBlas(f) })
	if q.blas.err != nil {
		return true, q.blas.err
	}
	q.launched(ranCall, "gemm")
	code := C.gcu_blas_gemm(f, q.gpu.c(), q.blas.handle, &g.g, b, a, c)
	if code != 0 {
		return true, fmt.Errorf("cuda: cuBLAS: product of %d matrices of %d×%d by %d×%d: error %d",
			g.d.Batch, g.d.M, g.d.K, g.d.K, g.d.N, code)
	}
	return true, nil
}

// blasSpace is the size in bytes of cuBLAS's working memory per queue: the size that NVIDIA
// recommends for compute capability 9.0, larger than for the ones before.
const blasSpace = 32 << 20

// openBlas makes the handle of q. A part of the memory of a failed call is lost.
func (q *Queue) openBlas(f *C.gcu_blas) (unsafe.Pointer, error) {
	var h unsafe.Pointer
	mode := C.int(mathDefault)
	if !wholeF32.Load() {
		mode = mathTF32
	}
	space, err := backend{}.Alloc(q.gpu.id, blasSpace)
	if err != nil {
		return nil, err
	}
	if code := C.gcu_blas_open(f, q.gpu.c(), q.s, mode|mathWideSums, space, blasSpace, &h); code != 0 {
		return nil, fmt.Errorf("cuda: opening cuBLAS on device %d: error %d", q.gpu.id, code)
	}
	return h, nil
}
