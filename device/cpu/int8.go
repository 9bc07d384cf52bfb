//go:build cgo

package cpu

/*
#include "int8.h"
#cgo noescape gx_quantize
#cgo nocallback gx_quantize
#cgo noescape gx_dequantize
#cgo nocallback gx_dequantize
#cgo noescape gx_bytepool_run
#cgo nocallback gx_bytepool_run
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// Quantizer turns float32 images (Batch, Channels, In...) with up to three spatial axes into
// integers (x + Shift)·Scale, rounded to the nearest and limited to their type, with zeros, shifted
// and scaled too, around them. NaN becomes the least number. The input is plain.
type Quantizer struct {
	Shift, Scale    float32
	Type            dtype.Type // Uint8 or Int8
	Batch, Channels int
	In              []int
	Before, Out     []int // zeros before each axis, extents of the output; nil: no zeros
	Last            bool  // the output has its channels last
	Threads         int
}

// Run quantizes x.
func (q *Quantizer) Run(y, x unsafe.Pointer) {
	c := C.gx_quantizer{batch: C.int64_t(q.Batch), channels: C.int64_t(q.Channels),
		shift: C.float(q.Shift), scale: C.float(q.Scale), _type: elementType(q.Type),
		last: C.int32_t(boolInt(q.Last))}
	lead := 3 - len(q.In)
	for a := range 3 {
		c.in[a], c.out[a] = 1, 1
		if i := a - lead; i >= 0 {
			c.in[a], c.out[a] = C.int64_t(q.In[i]), C.int64_t(q.In[i])
			if q.Out != nil {
				c.before[a], c.out[a] = C.int64_t(q.Before[i]), C.int64_t(q.Out[i])
			}
		}
	}
	C.gx_quantize(&c, y, (*C.float)(x), C.int(q.Threads))
}

// Dequantize turns n integers of a type into float32 numbers q·step.
func Dequantize(y, x unsafe.Pointer, t dtype.Type, step float32, n, threads int) {
	C.gx_dequantize((*C.float)(y), x, C.float(step), C.int(elementType(t)), C.int64_t(n),
		C.int(threads))
}

// BytePool describes pooling by max of int8 or uint8 numbers with one to three spatial axes. No
// window lies in the padding altogether.
type BytePool struct {
	Batch, Channels              int
	In, Out, Kernel, Stride, Pad []int
	Signed                       bool
	XLast, YLast                 bool // channels are last
	Threads                      int
}

// Run pools x.
func (b *BytePool) Run(y, x unsafe.Pointer) {
	p := C.gx_bytepool{batch: C.int64_t(b.Batch), channels: C.int64_t(b.Channels),
		is_signed: C.int32_t(boolInt(b.Signed)), x_last: C.int32_t(boolInt(b.XLast)),
		y_last: C.int32_t(boolInt(b.YLast))}
	lead := 3 - len(b.In)
	for a := range 3 {
		p.in[a], p.out[a], p.kernel[a], p.stride[a] = 1, 1, 1, 1
		if i := a - lead; i >= 0 {
			p.in[a], p.out[a] = C.int64_t(b.In[i]), C.int64_t(b.Out[i])
			p.kernel[a], p.stride[a] = C.int64_t(b.Kernel[i]), C.int64_t(b.Stride[i])
			p.pad[a] = C.int64_t(b.Pad[i])
		}
	}
	C.gx_bytepool_run(&p, y, x, C.int(b.Threads))
}
