//go:build cgo

package cpu

/*
#include "conv.h"
#cgo noescape gx_prog_run
#cgo nocallback gx_prog_run
#cgo noescape gx_conv_forward
#cgo nocallback gx_conv_forward
#cgo noescape gx_conv_pack
#cgo nocallback gx_conv_pack
#cgo noescape gx_conv_backward
#cgo nocallback gx_conv_backward
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"

	"gomx/dtype"
)

// Program is a sequence of kernels made for certain shapes and threads: oneDNN's, or our own where
// these are missing. It may run any number of times, also concurrently with separate scratch
// memory.
type Program struct {
	what    string
	c       *C.gx_prog
	scratch int
}

// newProgram wraps the program that a constructor in C made; the garbage collector frees the C
// memory together with the Go object.
func newProgram(what string, c *C.gx_prog, code C.int) (*Program, error) {
	if err := status(code, what); err != nil {
		C.gx_prog_free(c)
		return nil, err
	}
	p := &Program{what, c, int(C.gx_prog_scratch(c))}
	runtime.AddCleanup(p, func(c *C.gx_prog) { C.gx_prog_free(c) }, c)
	return p, nil
}

// Scratch returns the bytes of scratch memory of one run, to be aligned to 64.
func (p *Program) Scratch() int { return p.scratch }

// Impls names the library's implementation of every step, in order; nil where the kernels are our
// own.
func (p *Program) Impls() (names []string) {
	for i := C.int(0); ; i++ {
		name := C.gx_prog_impl(p.c, i)
		if name == nil {
			runtime.KeepAlive(p)
			return names
		}
		names = append(names, C.GoString(name))
	}
}

func (p *Program) run(ptrs [6]unsafe.Pointer, scratch unsafe.Pointer) error {
	err := status(C.gx_prog_run(p.c, ptrs[0], ptrs[1], ptrs[2], ptrs[3], ptrs[4], ptrs[5], scratch),
		p.what)
	runtime.KeepAlive(p)
	return err
}

// ConvSpec describes a convolution over one to three spatial axes. Data has shape (Batch,
// InChannels, In...), weights (OutChannels, InChannels/Groups, Kernel...).
type ConvSpec struct {
	Batch, InChannels, OutChannels, Groups int
	In, Out, Kernel, Stride, Dilate, Pad   []int // Dilate 1 is dense
	Bias                                   bool
	Train                                  bool // a backward pass will follow
	// add another array to the result, then cut off negative values
	Add, ReLU bool
	X, Sum    Layout // of data and of the array that Add adds
	DY        Layout // of the gradient of the output
	AnyY      bool   // the output may have any layout
	AnyDX     bool   // the gradient of data may have any layout
	Packed    bool   // weights come as Pack leaves them
	// use Winograd's algorithm, an error where it does not apply
	Winograd bool
	// type of all elements: Float32 or BFloat16, whose sums are float32
	DType    dtype.Type
	DirectDW bool // but not for gradients of weights
	// give channels that fill blocks of 16 a blocked layout
	Blocked bool
	Threads int
}

// flat reports whether axis i has a single pixel that meets a single weight.
func (s *ConvSpec) flat(i int) bool {
	return s.In[i] == 1 && s.Out[i] == 1 && s.Kernel[i] == 1 && s.Pad[i] == 0
}

// c leaves flat axes out, as long as one axis stays: the arrays are the same memory without them in
// all layouts, and kernels keep the pixels of the last axis in registers.
func (s *ConvSpec) c() C.gx_conv {
	c := C.gx_conv{batch: C.int64_t(s.Batch),
		ic: C.int64_t(s.InChannels), oc: C.int64_t(s.OutChannels),
		groups: C.int64_t(s.Groups), bias: C.int32_t(boolInt(s.Bias)),
		train: C.int32_t(boolInt(s.Train)),
		add:   C.int32_t(boolInt(s.Add)), relu: C.int32_t(boolInt(s.ReLU)),
		x_layout:   C.int32_t(s.X),
		add_layout: C.int32_t(s.Sum),
		choose_y:   C.int32_t(boolInt(s.AnyY)), packed: C.int32_t(boolInt(s.Packed)),
		winograd: C.int32_t(boolInt(s.Winograd)),
		blocked:  C.int32_t(boolInt(s.Blocked)), choose_dx: C.int32_t(boolInt(s.AnyDX)),
		direct_dw: C.int32_t(boolInt(s.DirectDW)), _type: elementType(s.DType)}
	for i := range s.In {
		if s.flat(i) && (c.axes > 0 || i+1 < len(s.In)) {
			continue
		}
		k := c.axes
		c.in[k], c.out[k], c.kernel[k] = C.int64_t(s.In[i]), C.int64_t(s.Out[i]),
			C.int64_t(s.Kernel[i])
		c.stride[k], c.dilate[k], c.pad[k] = C.int64_t(s.Stride[i]), C.int64_t(s.Dilate[i]),
			C.int64_t(s.Pad[i])
		c.axes++
	}
	return c
}

// Conv is a convolution ready to run.
type Conv struct {
	*Program
	Y    Layout // of the output
	spec C.gx_conv
}

// NewConv prepares a convolution.
func NewConv(s ConvSpec) (Conv, error) {
	var prog *C.gx_prog
	c := s.c()
	code := C.gx_conv_forward(&prog, &c, C.int(s.Threads))
	p, err := newProgram("convolution", prog, code)
	return Conv{p, Layout(c.y_layout), c}, err
}

// HasBlocks reports whether the processor has fast kernels for channels in blocks of 16, Winograd's
// algorithm among them.
var HasBlocks = sync.OnceValue(func() bool {
	two := []int{8, 8}
	k, err := NewConv(ConvSpec{Batch: 1, InChannels: 32, OutChannels: 32, Groups: 1, In: two,
		Out: two, Kernel: []int{3, 3},
		Stride: []int{1, 1}, Dilate: []int{1, 1}, Pad: []int{1, 1}, Winograd: true, AnyY: true,
		Packed: true, Threads: 1})
	return err == nil && k.Y == LayoutBlock16
})

// Run convolves x with w; bias is read if the convolution has one.
func (k Conv) Run(y, x, w, bias, scratch unsafe.Pointer) error {
	return k.run([6]unsafe.Pointer{x, w, bias, y}, scratch)
}

// RunAdd is Run for a convolution with Add: sum, which may be y, is added.
func (k Conv) RunAdd(y, x, w, bias, sum, scratch unsafe.Pointer) error {
	return k.run([6]unsafe.Pointer{x, w, bias, y, sum}, scratch)
}

// Packing is the layout of the weights of one convolution made with Packed. As a value it is equal
// only to itself.
type Packing struct {
	of      *Program // the program that reads the weights
	pack    *Program
	tiles   *Int8 // the layer with tiles of our own that reads them; there is no program then
	Bytes   int
	threads int
}

// Packing prepares the program that copies plain weights into the layout that k wants.
func (k Conv) Packing(threads int) (*Packing, error) {
	var prog *C.gx_prog
	code := C.gx_conv_pack(&prog, &k.spec, k.c, C.int(threads))
	p, err := newProgram("layout of weights", prog, code)
	return &Packing{of: k.Program, pack: p, Bytes: int(C.gx_prog_packed_bytes(k.c)),
		threads: threads}, err
}

// Equal reports whether layout is a *Packing that leaves weights as p does.
func (p *Packing) Equal(layout any) bool {
	q, ok := layout.(*Packing)
	switch {
	case !ok || (p.tiles == nil) != (q.tiles == nil):
		return false
	case p.tiles != nil:
		return p.tiles.packsLike(q.tiles)
	}
	same := p == q || p.Bytes == q.Bytes && C.gx_prog_packed_equal(p.of.c, q.of.c) != 0
	runtime.KeepAlive(p)
	runtime.KeepAlive(q)
	return same
}

// Threads returns the number of threads that Run uses.
func (p *Packing) Threads() int { return p.threads }

// Scratch returns the bytes of scratch memory that Run needs.
func (p *Packing) Scratch() int {
	if p.tiles != nil {
		return 0
	}
	return p.pack.Scratch()
}

// Impls names the library's implementation of every step of Run.
func (p *Packing) Impls() []string {
	if p.tiles != nil {
		return nil
	}
	return p.pack.Impls()
}

// Run brings plain weights w into the layout.
func (p *Packing) Run(packed, w, scratch unsafe.Pointer) error {
	if p.tiles != nil {
		p.tiles.pack(packed, w)
		return nil
	}
	return p.pack.run([6]unsafe.Pointer{w, packed}, scratch)
}

// ConvGrad computes gradients of a convolution.
type ConvGrad struct {
	*Program
	DX Layout // of the gradient of data
}

// ConvGrads holds the operands of ConvGrad.Run; outputs that were not asked for may be nil.
type ConvGrads struct {
	DX, DW, DBias, DY, X, W unsafe.Pointer
}

// NewConvGrad prepares the gradients of data (wantX) and of weight and bias (wantW).
func NewConvGrad(s ConvSpec, wantX, wantW bool) (ConvGrad, error) {
	var prog *C.gx_prog
	c := s.c()
	c.y_layout = C.int32_t(s.DY)
	code := C.gx_conv_backward(&prog, &c, boolInt(wantX), boolInt(wantW), C.int(s.Threads))
	p, err := newProgram("gradient of convolution", prog, code)
	return ConvGrad{p, Layout(c.dx_layout)}, err
}

// Run computes the gradients that were asked for.
func (k ConvGrad) Run(o ConvGrads, scratch unsafe.Pointer) error {
	return k.run([6]unsafe.Pointer{o.DY, o.X, o.W, o.DX, o.DW, o.DBias}, scratch)
}
