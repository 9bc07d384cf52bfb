//go:build cgo

package cpu

/*
#include "byteconv.h"
#cgo noescape gx_int8_program
#cgo nocallback gx_int8_program
#cgo noescape gx_int8_pack
#cgo nocallback gx_int8_pack
#cgo noescape gx_int8_run
#cgo nocallback gx_int8_run
#cgo noescape gx_byteconv_takes
#cgo nocallback gx_byteconv_takes
#cgo noescape gx_byteconv_packed
#cgo nocallback gx_byteconv_packed
#cgo noescape gx_byteconv_pack
#cgo nocallback gx_byteconv_pack
#cgo noescape gx_byteconv_scratch
#cgo nocallback gx_byteconv_scratch
#cgo noescape gx_byteconv_run
#cgo nocallback gx_byteconv_run
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

// Int8 is a layer of integers ready to run: a program of the library, tiles of our own, or plain
// loops.
type Int8 struct {
	program *Program // nil: our own
	tiles   bool
	spec    C.gx_int8
	threads int
}

// NewInt8 prepares a layer with the library, for the processors on which its sums are exact.
func NewInt8(s Int8Spec, threads int) (Int8, error) {
	var prog *C.gx_prog
	c := s.c(false)
	code := C.gx_int8_program(&prog, &c, C.int(threads))
	p, err := newProgram("layer of integers", prog, code)
	return Int8{p, false, c, threads}, err
}

// TiledInt8 prepares a layer with kernels of our own for processors with AVX2; ok is false on
// others, and where the layout of the added array is not that of the output.
func TiledInt8(s Int8Spec, threads int) (k Int8, ok bool) {
	c := s.c(false)
	return Int8{nil, true, c, threads}, C.gx_byteconv_takes(&c) != 0
}

// PlainInt8 prepares a layer of plain arrays with loops of our own, exact everywhere.
func PlainInt8(s Int8Spec, threads int) Int8 { return Int8{nil, false, s.c(true), threads} }

// Scratch returns the bytes of scratch memory of one run, to be aligned to 64.
func (k Int8) Scratch() int {
	switch {
	case k.program != nil:
		return k.program.Scratch()
	case k.tiles:
		return int(C.gx_byteconv_scratch(&k.spec, C.int(k.threads)))
	}
	return 0
}

// Impls names the library's implementation of every step, nil where the kernels are our own.
func (k Int8) Impls() []string {
	if k.program == nil {
		return nil
	}
	return k.program.Impls()
}

// Int8Operands holds the operands of Int8.Run; Sum is nil where nothing is added, and may be Y but
// for plain loops.
type Int8Operands struct{ Y, X, W, Scale, Offset, Sum unsafe.Pointer }

// Run computes the layer.
func (k Int8) Run(o Int8Operands, scratch unsafe.Pointer) error {
	switch {
	case k.program != nil:
		return k.program.run([6]unsafe.Pointer{o.X, o.W, o.Scale, o.Offset, o.Y, o.Sum}, scratch)
	case k.tiles:
		C.gx_byteconv_run(&k.spec, o.Y, o.X, (*C.int8_t)(o.W), (*C.float)(o.Scale),
			(*C.float)(o.Offset), o.Sum, scratch, C.int(k.threads))
	default:
		C.gx_int8_run(&k.spec, o.Y, o.X, (*C.int8_t)(o.W), (*C.float)(o.Scale),
			(*C.float)(o.Offset), o.Sum, C.int(k.threads))
	}
	return nil
}

// Packing prepares the program that copies plain weights into the layout that k wants, which plain
// loops do not have.
func (k Int8) Packing() (*Packing, error) {
	if k.tiles {
		return &Packing{tiles: &k, Bytes: int(C.gx_byteconv_packed(&k.spec)),
			threads: k.threads}, nil
	}
	var prog *C.gx_prog
	code := C.gx_int8_pack(&prog, &k.spec, k.program.c, C.int(k.threads))
	p, err := newProgram("layout of weights", prog, code)
	return &Packing{of: k.program, pack: p, Bytes: int(C.gx_prog_packed_bytes(k.program.c)),
		threads: k.threads}, err
}

// pack packs plain weights for tiles.
func (k Int8) pack(packed, w unsafe.Pointer) {
	C.gx_byteconv_pack(&k.spec, (*C.int8_t)(packed), (*C.int8_t)(w), C.int(k.threads))
}

// packsLike reports whether two layers, of the same plain weights, read them in the same form.
func (k Int8) packsLike(l *Int8) bool {
	a, b := &k.spec, &l.spec
	last := max(a.axes, 1) - 1
	return a.groups == b.groups && a.oc == b.oc && a.ic == b.ic && a.kernel == b.kernel &&
		(a.dilate[last] == 1) == (b.dilate[last] == 1)
}
