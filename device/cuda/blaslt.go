//go:build cuda

package cuda

/*
#cgo nocallback gcu_lt_choose
#cgo noescape gcu_lt_choose
#cgo nocallback gcu_lt_run
#cgo noescape gcu_lt_run
#include "blaslt.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ltNames lists the file names of cuBLASLt, the newest first.
var ltNames = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}

// theLt opens cuBLASLt at the first use. Without it, kernels of their own add biases and sum up their
// gradients.
var theLt = sync.OnceValues(func() (*C.gcu_lt, error) {
	lib, err := OpenLibrary("cuBLASLt, which adds biases to products,", ltNames)
	if err != nil {
		return nil, err
	}
	f := new(C.gcu_lt)
	var missing *C.char
	if C.gcu_lt_load(lib, f, &missing) != 0 {
		return nil, fmt.Errorf("cuda: cuBLASLt has no function %s", C.GoString(missing))
	}
	return f, nil
})

// The parts of a BiasGemm's vector: it is added to each row of the product A·B, or gets the sums of
// the columns of Aᵀ, the gradient of such a bias.
const (
	AddsBias = C.gcu_lt_add_bias
	SumsBias = C.gcu_lt_sum_bias
)

// computeTF32 is the arithmetic of float32 with operands of TF32.
const computeTF32 = 77

// BiasGemm is a product with a vector that cuBLASLt computes in one pass. Any number of queues may
// use it.
type BiasGemm struct {
	p C.gcu_lt_product

	mu     sync.Mutex
	chosen map[int]*ltChoice // by device
}

// ltChoice is the algorithm for a product; if none is set the library declines it.
type ltChoice struct {
	c    C.gcu_lt_choice
	none bool
	ran  atomic.Bool // a call has succeeded
}

// WithBias returns the product with a vector, AddsBias or SumsBias, or nil if cuBLASLt does not
// support it.
func (g *Gemm) WithBias(does int) *BiasGemm {
	if g == nil || g.g.batch != 1 || g.g.doubles != 0 || g.g.alpha != 1 || g.g.beta != 0 {
		return nil
	}
	p := C.gcu_lt_product{ta: g.g.ta, tb: g.g.tb, m: g.g.m, n: g.g.n, k: g.g.k, lda: g.g.lda,
		ldb: g.g.ldb, ldc: g.g.ldc, _type: g.g._type, compute: g.g.compute, epilogue: C.int(does)}
	if p._type == typeF32 && !wholeF32.Load() {
		p.compute = computeTF32
	}
	return &BiasGemm{p: p, chosen: map[int]*ltChoice{}}
}

// ltHandle is cuBLASLt's handle for one queue, and its working memory.
type ltHandle struct {
	once   sync.Once
	handle unsafe.Pointer
	space  unsafe.Pointer
	err    error
}

// openLt makes the handle of q.
func (q *Queue) openLt(f *C.gcu_lt) {
	l := &q.blas.lt
	if l.space, l.err = (backend{}).Alloc(q.gpu.id, blasSpace); l.err != nil {
		return
	}
	if code := C.gcu_lt_open(f, q.gpu.c(), &l.handle); code != 0 {
		l.err = fmt.Errorf("cuda: opening cuBLASLt on device %d: error %d", q.gpu.id, code)
	}
}

// Run puts the product on q; done is false if cuBLASLt is missing or declines it.
func (g *BiasGemm) Run(q *Queue, a, b, c, bias unsafe.Pointer) (done bool, err error) {
	f, err := theLt()
	if err != nil || bitsOf(a, b, c, bias)%alignment != 0 {
		return false, nil
	}
	if q.blas.lt.handle == nil && q.tape.refuses() {
		return true, errNotRecorded
	}
	q.blas.lt.once.Do(func() { q.openLt(f) })
	if q.blas.lt.err != nil {
		return true, q.blas.lt.err
	}
	// cuBLASLt stores matrices column by column, so a is its second operand.
	at := C.gcu_lt_memory{a: b, b: a, c: c, bias: bias, space: q.blas.lt.space, bytes: blasSpace}
	s := g.choice(f, q, &at)
	if s.none {
		return false, nil
	}
	if err := q.putJoint(); err != nil {
		return true, err
	}
	code := C.gcu_lt_run(f, q.gpu.c(), q.blas.lt.handle, q.s, &g.p, &at, &s.c)
	if code != 0 && !s.ran.Load() {
		g.mu.Lock()
		g.chosen[q.gpu.id] = &ltChoice{none: true}
		g.mu.Unlock()
		return false, nil
	}
	if code != 0 {
		return true, fmt.Errorf("cuda: cuBLASLt: product of %d×%d by %d×%d with a bias: error %d", g.p.n,
			g.p.k, g.p.k, g.p.m, code)
	}
	s.ran.Store(true)
	q.launched(ranCall, "gemm with bias")
	return true, nil
}

// choice returns the algorithm for the device of q.
func (g *BiasGemm) choice(f *C.gcu_lt, q *Queue, at *C.gcu_lt_memory) *ltChoice {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.chosen[q.gpu.id]
	if s == nil {
		s = &ltChoice{}
		s.none = C.gcu_lt_choose(f, q.gpu.c(), q.blas.lt.handle, &g.p, at, &s.c) != 0
		g.chosen[q.gpu.id] = s
	}
	return s
}
