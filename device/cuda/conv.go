//go:build cuda

package cuda

/*
#cgo noescape gcu_dnn_conv_run
#cgo nocallback gcu_dnn_conv_run
#include "conv.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"gomx/dtype"
)

// ConvDims are the extents of a convolution of images in [batch][channels][...] by weights in [out
// channels][channels of a group][...], or, with Last, of images in [batch][...][channels] by weights
// in [out channels][...][channels of a group].
type ConvDims struct {
	Batch, In, Out, Groups int
	Image, Result, Kernel  []int
	Stride, Pad, Dilate    []int
	Last                   bool
}

// The computations of a convolution: forward, and the gradients of its data and of its weight.
const (
	convForward = iota
	convData
	convWeight
	convKinds
)

// Conv is a convolution that cuDNN computes. Any number of queues may use it.
type Conv struct {
	lib  *dnn
	c    *C.gcu_dnn_conv
	key  string // everything but device and kind that the fastest algorithm depends on
	math C.int
	size [3]int // bytes of the data, of the weights and of the result

	mu     sync.Mutex
	chosen map[choiceKey]*choice
}

// choiceKey identifies a chosen algorithm by device and kind of computation.
type choiceKey struct{ device, kind int }

// choice is the chosen algorithm. If err is set, no algorithm is known to work.
type choice struct {
	algo  C.int
	math  C.int
	bytes int
	err   error
	ran   atomic.Bool // a call has succeeded
}

// ErrNoAlgorithm means that cuDNN does not support a convolution.
var ErrNoAlgorithm = errors.New("cuda: cuDNN has no algorithm for this convolution")

// NewConv describes a convolution to cuDNN, or returns nil if the library is missing or does not
// support it.
func NewConv(t dtype.Type, d ConvDims) *Conv {
	lib, err := dnnWith(C.gcu_dnn_convolution)
	e, ok := dnnTypeOf(t)
	if err != nil || !ok || !d.fits() {
		return nil
	}
	d.strip()
	s := C.gcu_dnn_spec{_type: e.number, compute: e.compute, math: e.math, groups: C.int(d.Groups),
		axes: C.int(max(len(d.Kernel), 2))}
	if d.Last {
		s.last = 1
	}
	s.x[0], s.x[1] = C.int(d.Batch), C.int(d.In)
	s.y[0], s.y[1] = C.int(d.Batch), C.int(d.Out)
	s.w[0], s.w[1] = C.int(d.Out), C.int(d.In/d.Groups)
	lead := int(s.axes) - len(d.Kernel)
	for i := range int(s.axes) {
		s.x[2+i], s.y[2+i], s.w[2+i], s.stride[i], s.dilate[i] = 1, 1, 1, 1, 1
		if k := i - lead; k >= 0 {
			s.x[2+i], s.y[2+i], s.w[2+i] = C.int(d.Image[k]), C.int(d.Result[k]), C.int(d.Kernel[k])
			s.stride[i], s.dilate[i], s.pad[i] = C.int(d.Stride[k]), C.int(d.Dilate[k]),
				C.int(d.Pad[k])
		}
	}
	c := &Conv{lib: lib, c: new(C.gcu_dnn_conv), math: s.math, chosen: map[choiceKey]*choice{},
		key: fmt.Sprint(t, d, s.math), size: d.bytes(t.Size())}
	if C.gcu_dnn_conv_make(lib.f, &s, c.c) != 0 {
		return nil
	}
	runtime.AddCleanup(c, func(made *C.gcu_dnn_conv) { C.gcu_dnn_conv_free(lib.f, made) }, c.c)
	return c
}

// strip removes leading axes of extent one without padding, down to two axes.
func (d *ConvDims) strip() {
	for len(d.Kernel) > 2 && d.Image[0] == 1 && d.Kernel[0] == 1 && d.Pad[0] == 0 {
		for _, list := range []*[]int{&d.Image, &d.Result, &d.Kernel, &d.Stride, &d.Pad,
			&d.Dilate} {
			*list = (*list)[1:]
		}
	}
}

// fits reports whether the extents of the output are the ones that cuDNN derives.
func (d *ConvDims) fits() bool {
	n := len(d.Kernel)
	if n < 1 || n > C.gcu_dnn_axes || d.Batch*d.In*d.Out*d.Groups == 0 {
		return false
	}
	sizes := []int{d.Batch * d.In, d.Batch * d.Out}
	for i := range n {
		window := d.Dilate[i]*(d.Kernel[i]-1) + 1
		if d.Result[i] < 1 || d.Result[i] != (d.Image[i]+2*d.Pad[i]-window)/d.Stride[i]+1 {
			return false
		}
		sizes[0] *= d.Image[i]
		sizes[1] *= d.Result[i]
	}
	return max(sizes[0], sizes[1]) <= math.MaxInt32
}

// bytes returns the sizes of the data, of the weights and of the result, for elements of one size.
func (d *ConvDims) bytes(element int) [3]int {
	x, w, y := d.Batch*d.In, d.Out*(d.In/d.Groups), d.Batch*d.Out
	for i := range d.Kernel {
		x, w, y = x*d.Image[i], w*d.Kernel[i], y*d.Result[i]
	}
	return [3]int{x * element, w * element, y * element}
}

// Forward computes y = w * x.
func (c *Conv) Forward(q *Queue, y, x, w unsafe.Pointer) error {
	return c.run(q, convForward, x, w, y)
}

// BackData computes dx from dy and w.
func (c *Conv) BackData(q *Queue, dx, dy, w unsafe.Pointer) error {
	return c.run(q, convData, w, dy, dx)
}

// BackWeight computes dw from dy and x.
func (c *Conv) BackWeight(q *Queue, dw, dy, x unsafe.Pointer) error {
	return c.run(q, convWeight, x, dy, dw)
}

// run puts one kind of computation on a queue.
func (c *Conv) run(q *Queue, kind int, a, b, to unsafe.Pointer) error {
	if bitsOf(a, b, to)%alignment == 0 {
		return c.put(q, kind, a, b, to)
	}
	sizes := [convKinds][3]int{{c.size[0], c.size[1], c.size[2]},
		{c.size[1], c.size[2], c.size[0]}, {c.size[0], c.size[2], c.size[1]}}[kind]
	return q.align([]operand{{&a, sizes[0], true, false}, {&b, sizes[1], true, false},
		{&to, sizes[2], false, true}}, func() error { return c.put(q, kind, a, b, to) })
}

// put puts one kind of computation of aligned operands on a queue.
func (c *Conv) put(q *Queue, kind int, a, b, to unsafe.Pointer) error {
	handle, err := c.lib.on(q)
	if err != nil {
		return err
	}
	s := c.choice(q, handle, kind, a, b, to)
	if s.err != nil {
		return s.err
	}
	space, err := q.Workspace(s.bytes)
	if err != nil {
		return err
	}
	q.launched(ranCall, [convKinds]string{"conv", "conv data", "conv weight"}[kind])
	code := C.gcu_dnn_conv_run(c.lib.f, q.gpu.c(), handle, c.c, C.int(kind), s.algo, a, b, to,
		space, C.size_t(s.bytes))
	runtime.KeepAlive(c)
	if (declines(code) || badParam(code)) && !s.ran.Load() {
		return c.refuse(q, kind)
	}
	if code == 0 && !s.ran.Load() {
		s.ran.Store(true)
	}
	return c.lib.check("convolution "+c.key, code)
}

// choice returns the algorithm for a kind of computation on a queue's device: the fastest one in a
// measurement at its first use, in this process or an earlier one.
func (c *Conv) choice(q *Queue, handle unsafe.Pointer, kind int, a, b, to unsafe.Pointer) *choice {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := choiceKey{q.gpu.id, kind}
	if s := c.chosen[key]; s != nil {
		return s
	}
	if q.tape.refuses() {
		return &choice{err: errNotRecorded}
	}
	s := c.remembered(q, handle, kind)
	if s == nil {
		s = c.search(q, handle, kind, a, b, to)
	}
	if s.err == nil {
		s.err = c.lib.check("choosing arithmetic", C.gcu_dnn_conv_math(c.lib.f, c.c, C.int(kind),
			s.math))
	}
	c.chosen[key] = s
	return s
}

// refuse gives up the algorithm for a kind of computation, which cuDNN turned down when it ran.
func (c *Conv) refuse(q *Queue, kind int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen[choiceKey{q.gpu.id, kind}] = &choice{err: ErrNoAlgorithm}
	if path := c.file(q, kind); path != "" {
		os.Remove(path)
	}
	return ErrNoAlgorithm
}

// mostSpace is the largest workspace of an algorithm, in bytes.
const mostSpace = 256 << 20

// search lets cuDNN measure all algorithms on the operands and returns the fastest one whose
// results are repeatable.
func (c *Conv) search(q *Queue, handle unsafe.Pointer, kind int, a, b, to unsafe.Pointer) *choice {
	space, err := q.Workspace(mostSpace)
	if err != nil {
		space, err = q.Workspace(1 << 20)
	}
	if err != nil {
		return &choice{err: err}
	}
	var list [16]C.gcu_dnn_perf
	var found C.int
	code := C.gcu_dnn_conv_find(c.lib.f, q.gpu.c(), handle, c.c, C.int(kind), a, b, to, space,
		C.size_t(q.space.bytes), &found, &list[0], C.int(len(list)))
	if code != 0 {
		return &choice{err: ErrNoAlgorithm}
	}
	for _, p := range list[:found] { // the fastest first
		if p.status == 0 && p.determinism == 1 && int(p.memory) <= q.space.bytes {
			s := &choice{algo: p.algo, math: p.math, bytes: int(p.memory)}
			c.remember(q, kind, s)
			return s
		}
	}
	return &choice{err: ErrNoAlgorithm}
}
