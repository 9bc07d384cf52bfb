//go:build cgo

package cpu

/*
#include "prelu.h"
#cgo noescape gx_prelu_forward
#cgo nocallback gx_prelu_forward
#cgo noescape gx_prelu_backward
#cgo nocallback gx_prelu_backward
*/
import "C"

import "unsafe"

// PReLU lets positive values pass and multiplies others by the slope of their channel.
type PReLU struct {
	p       C.gx_prelu
	threads C.int
}

// NewPReLU prepares the rectifier of an array with batch and channels in front, in a layout. It has
// a slope for every channel, or one for all if single is set.
func NewPReLU(shape []int, l Layout, single bool, threads int) PReLU {
	n, c, pixels := shape[0], shape[1], 1
	for _, d := range shape[2:] {
		pixels *= d
	}
	k := PReLU{threads: C.int(threads)}
	switch {
	case single:
		k.p = C.gx_prelu{1, 1, C.int64_t(n * c * pixels), 1}
	case l == LayoutPlain:
		k.p = C.gx_prelu{C.int64_t(n), C.int64_t(c), C.int64_t(pixels), 1}
	case l == LayoutLast:
		k.p = C.gx_prelu{C.int64_t(n), 1, C.int64_t(pixels), C.int64_t(c)}
	default:
		k.p = C.gx_prelu{C.int64_t(n), C.int64_t(c / l.block()), C.int64_t(pixels),
			C.int64_t(l.block())}
	}
	return k
}

// Run writes y, which may be the memory of x.
func (k PReLU) Run(y, x, slopes unsafe.Pointer) {
	C.gx_prelu_forward((*C.float)(y), (*C.float)(x), (*C.float)(slopes), &k.p, k.threads)
}

// RunGrad writes the gradients of x and of the slopes, either of which may be nil. It serves all
// layouts but LayoutLast; dx may be the memory of dy.
func (k PReLU) RunGrad(dx, dslopes, dy, x, slopes unsafe.Pointer) {
	C.gx_prelu_backward((*C.float)(dx), (*C.float)(dslopes), (*C.float)(dy), (*C.float)(x),
		(*C.float)(slopes), &k.p, k.threads)
}
