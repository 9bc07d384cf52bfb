//go:build cuda

package cuda

/*
#cgo noescape gcu_dnn_pool_run
#cgo nocallback gcu_dnn_pool_run
#cgo noescape gcu_dnn_pool_back
#cgo nocallback gcu_dnn_pool_back
#include "layers.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
)

// PoolDims are the extents of a pooling layer of up to three axes; missing leading axes have extent
// one. Strides, in elements, are for batch, channels and the axes.
type PoolDims struct {
	Batch, Channels       int
	In, Out               [3]int
	Kernel, Stride, Pad   [3]int
	InStrides, OutStrides [5]int
	Average, CountsPad    bool // averages, not maxima; padding counts in averages
}

// cuDNN's numbers for kinds of pooling. For maxima it is the kind whose gradient is repeatable.
const poolAverageAll, poolAverageInside, poolMax = 1, 2, 3

// Pool is a pooling layer that cuDNN computes.
type Pool struct{ l *layer }

// NewPool describes a pooling layer to cuDNN, or returns nil if the library is missing or does not
// support it. Each window must contain an element of the data.
func NewPool(t dtype.Type, d PoolDims) *Pool {
	e, ok := dnnTypeOf(t)
	if !ok || !d.fits() {
		return nil
	}
	first := 0
	if d.In[0] == 1 && d.Out[0] == 1 && d.Kernel[0] == 1 {
		first = 1
	}
	s := C.gcu_dnn_pool{_type: e.number, mode: poolMax, axes: C.int(3 - first)}
	if d.Average {
		if s.mode = poolAverageInside; d.CountsPad {
			s.mode = poolAverageAll
		}
	}
	s.x[0], s.x[1], s.y[0], s.y[1] = C.int(d.Batch), C.int(d.Channels), C.int(d.Batch),
		C.int(d.Channels)
	s.xs[0], s.xs[1], s.ys[0], s.ys[1] = C.int(d.InStrides[0]), C.int(d.InStrides[1]),
		C.int(d.OutStrides[0]), C.int(d.OutStrides[1])
	for i := range 3 - first {
		a := first + i
		s.x[2+i], s.y[2+i] = C.int(d.In[a]), C.int(d.Out[a])
		s.xs[2+i], s.ys[2+i] = C.int(axisStride(d.InStrides, d.In, a)),
			C.int(axisStride(d.OutStrides, d.Out, a))
		s.kernel[i], s.pad[i], s.stride[i] = C.int(d.Kernel[a]), C.int(d.Pad[a]), C.int(d.Stride[a])
	}
	l := newLayer(C.gcu_dnn_pooling, "pooling", fmt.Sprint(t, " ", d),
		func(f *C.gcu_dnn, l *C.gcu_dnn_layer) C.int { return C.gcu_dnn_pool_make(f, &s, l) })
	if l == nil {
		return nil
	}
	return &Pool{l}
}

// axisStride returns the stride of axis a; a missing leading axis gets the stride of a dense array.
func axisStride(strides [5]int, extents [3]int, a int) int {
	if strides[2+a] != 0 || a == 2 {
		return max(strides[2+a], 1)
	}
	return extents[a+1] * axisStride(strides, extents, a+1)
}

// fits reports whether cuDNN supports the extents: it derives the extents of the output, and every
// window must contain an element.
func (d *PoolDims) fits() bool {
	for a := range 3 {
		if d.Pad[a] >= d.Kernel[a] || d.Out[a] != (d.In[a]+2*d.Pad[a]-d.Kernel[a])/d.Stride[a]+1 {
			return false
		}
	}
	return whole(d.Batch, d.Channels, d.In[0], d.In[1], d.In[2]) &&
		whole(d.Batch, d.Channels, d.Out[0], d.Out[1], d.Out[2])
}

// Forward computes y from x. It returns ErrNotServed, and does nothing, if cuDNN does not support
// the layer.
func (p *Pool) Forward(q *Queue, y, x unsafe.Pointer) error {
	return p.l.run(q, bitsOf(y, x), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_pool_run(f, ctx, h, p.l.c, y, x)
	})
}

// Backward computes dx from dy. Averages do not read x and y, but both must point to memory.
func (p *Pool) Backward(q *Queue, dx, dy, x, y unsafe.Pointer) error {
	return p.l.run(q, bitsOf(dx, dy, x, y), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_pool_back(f, ctx, h, p.l.c, dx, dy, x, y)
	})
}
