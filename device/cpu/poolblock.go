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
	C.gx_pool_block_backward((*C.float)(dx), (*C.float)(dy), (*C.float)(x), (*C.float)(y), &k.p,
		k.threads)
}
