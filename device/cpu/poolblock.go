//go:build cgo

package cpu

/*
#include "poolblock.h"
#cgo noescape gx_pool_block_backward
#cgo nocallback gx_pool_block_backward
*/
import "C"

import "unsafe"

// RunBlockedGrad is RunGrad for arrays in LayoutBlock16, the pooling having been made for planes
// that are blocks of 16 channels. PoolLp is not served.
func (k *Pool) RunBlockedGrad(dx, dy, x, y unsafe.Pointer) {
	C.gx_pool_block_backward(dx, dy, x, y, &k.p, 0, nil, k.threads)
}

// NarrowScratch returns the bytes of scratch memory of RunNarrowGrad, to be aligned to 64.
func (k *Pool) NarrowScratch() int {
	return int(k.threads) * int(k.p.in[0]*k.p.in[1]*k.p.in[2]) * 16 * 4
}

// RunNarrowGrad is RunBlockedGrad for bfloat16 arrays. The parts of an element are added up in
// float32.
func (k *Pool) RunNarrowGrad(dx, dy, x, y, scratch unsafe.Pointer) {
	C.gx_pool_block_backward(dx, dy, x, y, &k.p, 1, (*C.float)(scratch), k.threads)
}
