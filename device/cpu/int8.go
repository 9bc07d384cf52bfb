//go:build cgo

package cpu

/*
#include "int8.h"
#cgo noescape gx_int8_program
#cgo nocallback gx_int8_program
#cgo noescape gx_int8_pack
#cgo nocallback gx_int8_pack
#cgo noescape gx_int8_run
#cgo nocallback gx_int8_run
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

// Int8Spec describes a convolution over two or three spatial axes, or a dense layer, of integers of
// 8 bits. Data has shape (Batch, InChannels, In...), int8 weights (OutChannels, InChannels/Groups,
// Kernel...), scales and offsets (OutChannels). A dense layer of data (Batch, InChannels) has no
// axes and one group.
//
// An output is made of the sum s of its products, in 32 bits, in float32: v = s·scale + offset,
// rounded twice; then v = v + q·SumStep, rounded once, for the number q of an added array; then the
// rectifier. A float32 output is v; others are v·Scale, rounded and limited to their type.
type Int8Spec struct {
	Batch, InChannels, OutChannels  int
	Groups                          int // 0: one
	In, Out, Kernel, Stride, Dilate []int
	Pad                             []int
	X, Y, Sum                       dtype.Type // Sum Unknown: nothing is added
	ReLU                            bool
	Scale, SumStep                  float32
	XLayout, YLayout, SumLayout     Layout // plain or channels last
	Packed                          bool   // weights come as Packing leaves them
}

// c describes the layer; a dense one as a convolution of images of one pixel if pixels is true.
func (s *Int8Spec) c(pixels bool) C.gx_int8 {
	c := C.gx_int8{axes: C.int64_t(len(s.Kernel)), batch: C.int64_t(s.Batch),
		ic: C.int64_t(s.InChannels), oc: C.int64_t(s.OutChannels),
		groups: C.int64_t(max(s.Groups, 1)),
		x_type: elementType(s.X), y_type: elementType(s.Y), sum_type: C.GX_NONE,
		relu: C.int32_t(boolInt(s.ReLU)), y_scale: C.float(s.Scale), sum_step: C.float(s.SumStep),
		x_layout: C.int32_t(s.XLayout), y_layout: C.int32_t(s.YLayout),
		sum_layout: C.int32_t(s.SumLayout), packed: C.int32_t(boolInt(s.Packed))}
	if s.Sum != dtype.Unknown {
		c.sum_type = elementType(s.Sum)
	}
	for i := range s.Kernel {
		c.in[i], c.out[i], c.kernel[i] = C.int64_t(s.In[i]), C.int64_t(s.Out[i]),
			C.int64_t(s.Kernel[i])
		c.stride[i], c.dilate[i], c.pad[i] = C.int64_t(s.Stride[i]), C.int64_t(s.Dilate[i]),
			C.int64_t(s.Pad[i])
	}
	if len(s.Kernel) > 0 || !pixels {
		return c
	}
	c.axes = 2
	for i := range 2 {
		c.in[i], c.out[i], c.kernel[i], c.stride[i], c.dilate[i] = 1, 1, 1, 1, 1
	}
	return c
}

// Int8 is a layer of integers ready to run.
type Int8 struct {
	*Program // nil: plain loops
	spec     C.gx_int8
	threads  int
}

// NewInt8 prepares a layer with the library, for the processors on which its sums are exact.
func NewInt8(s Int8Spec, threads int) (Int8, error) {
	var prog *C.gx_prog
	c := s.c(false)
	code := C.gx_int8_program(&prog, &c, C.int(threads))
	p, err := newProgram("layer of integers", prog, code)
	return Int8{p, c, threads}, err
}

// PlainInt8 prepares a layer of plain arrays with loops of our own, exact everywhere.
func PlainInt8(s Int8Spec, threads int) Int8 { return Int8{nil, s.c(true), threads} }

// Int8Operands holds the operands of Int8.Run; Sum is nil where nothing is added, and may be Y with
// a program.
type Int8Operands struct{ Y, X, W, Scale, Offset, Sum unsafe.Pointer }

// Run computes the layer.
func (k Int8) Run(o Int8Operands, scratch unsafe.Pointer) error {
	if k.Program == nil {
		C.gx_int8_run(&k.spec, o.Y, o.X, (*C.int8_t)(o.W), (*C.float)(o.Scale),
			(*C.float)(o.Offset), o.Sum, C.int(k.threads))
		return nil
	}
	return k.run([6]unsafe.Pointer{o.X, o.W, o.Scale, o.Offset, o.Y, o.Sum}, scratch)
}

// Packing prepares the program that copies plain weights into the layout that k wants.
func (k Int8) Packing() (*Packing, error) {
	var prog *C.gx_prog
	code := C.gx_int8_pack(&prog, &k.spec, k.c, C.int(k.threads))
	p, err := newProgram("layout of weights", prog, code)
	return &Packing{k.Program, p, int(C.gx_prog_packed_bytes(k.c)), k.threads}, err
}

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
