//go:build cgo

package cpu

/*
#include "attention.h"
#cgo noescape gx_attention_forward
#cgo nocallback gx_attention_forward
#cgo noescape gx_attention_grad
#cgo nocallback gx_attention_grad
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"
)

// Attention is scaled dot-product attention without the matrix of all weights. Queries have shape
// (Batch, N, Groups·Group, Size), keys and values (Batch, Keys, Groups, Size).
type Attention struct {
	Batch, N, Keys, Groups, Group, Size int

	Scale   float32
	Causal  bool // query i reads the keys before its position + i + 1
	Mask    AttentionMask
	Keep    float64 // share of the weights that is kept, if Drops
	Drops   bool
	Narrow  bool // queries, keys, values, Y and their gradients are bfloat16
	Threads int
}

// AttentionMask describes the array that is added to the scores. It broadcasts.
type AttentionMask struct {
	Extents [4]int // by sequence, head, query and key
	Strides [4]int // distances of elements along these, 0 along extents of one
	Bool    bool   // bytes that tell which keys are read in the place of floats
}

// AttentionArrays holds the operands of Attention. Run writes Y and, unless nil, LSE, of shape
// (Batch, Groups·Group, N); RunGrad writes DQ, DK and DV. Lengths and Positions hold an int32 for
// each sequence; nil: all keys, and zeros.
//
// Mask may be nil; so may DMask, which is its gradient. Seed is the place of the random numbers.
type AttentionArrays struct {
	Y, LSE, Q, K, V, Mask, Lengths, Positions unsafe.Pointer
	DQ, DK, DV, DMask, DY                     unsafe.Pointer

	Seed Philox
}

func (k *Attention) c() C.gx_attention {
	c := C.gx_attention{batch: C.int64_t(k.Batch), n: C.int64_t(k.N), keys: C.int64_t(k.Keys),
		groups: C.int64_t(k.Groups), group: C.int64_t(k.Group), size: C.int64_t(k.Size),
		scale: C.float(k.Scale), causal: C.int32_t(boolInt(k.Causal)),
		drops: C.int32_t(boolInt(k.Drops)), narrow: C.int32_t(boolInt(k.Narrow))}
	if k.Drops {
		c.keep = C.uint32_t(math.Ceil(k.Keep * (1 << 24)))
		if k.Keep > 0 {
			c.kept = C.float(1 / k.Keep)
		}
	}
	for i, s := range k.Mask.Strides {
		c.strides[i] = C.int64_t(s)
	}
	return c
}

// Scratch returns the bytes of scratch memory that Run needs, or RunGrad if grads is set.
func (k *Attention) Scratch(grads bool) int {
	p := k.c()
	return 4 * int(C.gx_attention_scratch(&p, C.int(boolInt(grads)), C.int(k.Threads)))
}

// pinned gives the description its arrays, which pin keeps in place.
func (k *Attention) pinned(o *AttentionArrays, pin *runtime.Pinner) C.gx_attention {
	p := k.c()
	for _, a := range []unsafe.Pointer{o.Y, o.LSE, o.Q, o.K, o.V, o.Mask, o.Lengths, o.Positions,
		o.DQ, o.DK, o.DV, o.DMask, o.DY} {
		if a != nil {
			pin.Pin(a)
		}
	}
	if k.Mask.Bool {
		p.may = (*C.uint8_t)(o.Mask)
	} else {
		p.mask = (*C.float)(o.Mask)
	}
	p.seed = o.Seed.c()
	p.lengths, p.positions = (*C.int32_t)(o.Lengths), (*C.int32_t)(o.Positions)
	return p
}

// Run computes the attention.
func (k *Attention) Run(o *AttentionArrays, scratch unsafe.Pointer) {
	var pin runtime.Pinner
	defer pin.Unpin()
	p := k.pinned(o, &pin)
	C.gx_attention_forward(o.Y, (*C.float)(o.LSE), o.Q, o.K, o.V, &p,
		(*C.float)(scratch), C.int(k.Threads))
}

// RunGrad computes the gradients of queries, keys and values from the gradient of the output.
func (k *Attention) RunGrad(o *AttentionArrays, scratch unsafe.Pointer) {
	var pin runtime.Pinner
	defer pin.Unpin()
	p := k.pinned(o, &pin)
	g := C.gx_attention_grads{dq: o.DQ, dk: o.DK, dv: o.DV, dy: o.DY, q: o.Q, k: o.K, v: o.V,
		y: o.Y, lse: (*C.float)(o.LSE), dmask: (*C.float)(o.DMask)}
	for i, n := range k.Mask.Extents {
		g.masks[i] = C.int64_t(n)
	}
	C.gx_attention_grad(&g, &p, (*C.float)(scratch), C.int(k.Threads))
}
