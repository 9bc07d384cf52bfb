//go:build cgo

package cpu

/*
#include "pool.h"
#cgo noescape gx_pool_forward
#cgo nocallback gx_pool_forward
#cgo noescape gx_pool_backward
#cgo nocallback gx_pool_backward
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// PoolType says which function pooling applies to the elements of a window.
type PoolType int

// The types of pooling.
const (
	PoolMax PoolType = C.GX_POOL_MAX
	PoolAvg PoolType = C.GX_POOL_AVG
	PoolSum PoolType = C.GX_POOL_SUM
	PoolLp  PoolType = C.GX_POOL_LP
)

// PoolSpec describes pooling of planes with one to three spatial axes.
type PoolSpec struct {
	Type                         PoolType
	Planes                       int // batch times channels
	In, Out, Kernel, Stride, Pad []int
	IncludePad                   bool // averages count padding
	P                            int  // exponent of PoolLp: 1, 2 or 3
	// of the elements, for a PoolProgram: Float32, which is the zero value, or BFloat16
	DType   dtype.Type
	Threads int
}

// Pool is a pooling ready to run.
type Pool struct {
	p       C.gx_pool
	threads C.int
}

// NewPool prepares pooling.
func NewPool(s PoolSpec) *Pool {
	k := &Pool{threads: C.int(s.Threads)}
	k.p.planes, k.p._type, k.p.include_pad, k.p.p = C.int64_t(s.Planes), C.int32_t(s.Type),
		C.int32_t(boolInt(s.IncludePad)), C.int32_t(s.P)
	lead := 3 - len(s.In)
	for a := range 3 {
		k.p.in[a], k.p.out[a], k.p.kernel[a], k.p.stride[a] = 1, 1, 1, 1
		if i := a - lead; i >= 0 {
			k.p.in[a], k.p.out[a], k.p.kernel[a] = C.int64_t(s.In[i]), C.int64_t(s.Out[i]),
				C.int64_t(s.Kernel[i])
			k.p.stride[a], k.p.pad[a] = C.int64_t(s.Stride[i]), C.int64_t(s.Pad[i])
		}
	}
	return k
}

// Run pools x to y.
func (k *Pool) Run(y, x unsafe.Pointer) {
	C.gx_pool_forward((*C.float)(y), (*C.float)(x), &k.p, k.threads)
}

// RunGrad writes the gradient of x; x and y are read by PoolMax and PoolLp only.
func (k *Pool) RunGrad(dx, dy, x, y unsafe.Pointer) {
	C.gx_pool_backward((*C.float)(dx), (*C.float)(dy), (*C.float)(x), (*C.float)(y), &k.p,
		k.threads)
}
