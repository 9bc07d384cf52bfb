//go:build cuda

package attach

import (
	"sync"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// Lanes is a kernel of softmax.cu, which treats the elements along one axis together.
type Lanes struct {
	Factor     float64
	Log        bool
	Length     int // the input that says how many elements of each lane count, -1 for all
	LengthType dtype.Type

	f               *cuda.Function
	grid            cuda.Grid
	outer, n, inner int

	once sync.Once
	dnn  *cuda.Softmax // nil: our own kernel is taken
}

// NewLanes prepares a kernel along an axis.
func NewLanes(family, name string, t dtype.Type, shape dtype.Shape, axis int) *Lanes {
	l := &Lanes{Factor: 1, Length: -1, outer: shape[:axis].Size(), n: shape[axis],
		inner: shape[axis+1:].Size()}
	l.grid = LaneGrid(l.outer*l.inner, l.n)
	if l.n <= shortLane {
		name += "_warps"
		lanes := warpThreads / 32 // of a block
		l.grid = cuda.Grid{X: min((l.outer*l.inner+lanes-1)/lanes, 1<<20), Y: 1, Threads: warpThreads}
	}
	l.f = cuda.Func(family, name, t)
	return l
}

// Lanes of up to shortLane elements are treated by a warp each, in blocks of warpThreads threads.
const (
	shortLane   = 1024
	warpThreads = 128
)

// LaneGrid returns a grid with a block for each of lanes lanes of n elements.
func LaneGrid(lanes, n int) cuda.Grid {
	threads := 32
	for threads < 256 && threads < n {
		threads *= 2
	}
	return cuda.Grid{X: min(lanes, 1<<20), Y: 1, Threads: threads}
}

// Run puts the kernel on a queue.
func (l *Lanes) Run(q *cuda.Queue, c *op.Call, a, b unsafe.Pointer) error {
	var length unsafe.Pointer
	kind, logarithm := 0, 0
	if l.Length >= 0 {
		length, kind = c.In[l.Length].Data, cuda.Code(l.LengthType)
	}
	if l.Log {
		logarithm = 1
	}
	if l.outer*l.inner*l.n == 0 {
		return nil
	}
	l.once.Do(l.choose)
	if err := l.library(q, c.Out[0].Data, a, b); err != cuda.ErrNotServed {
		return err
	}
	return q.Launch(l.f, l.grid, cuda.P(c.Out[0].Data), cuda.P(a),
		cuda.P(b), cuda.P(length), cuda.I(kind),
		cuda.I(l.outer), cuda.I(l.n), cuda.I(l.inner), cuda.F(l.Factor), cuda.I(logarithm))
}

// choose takes cuDNN where it computes the same and reads neighbours together: a block of ours
// walks along a lane, whose elements are far apart when something lies within.
func (l *Lanes) choose() {
	if l.inner > 1 && l.Length < 0 && l.Factor == 1 {
		l.dnn = cuda.NewSoftmax(l.f.DType(), l.Log, l.outer, l.n, l.inner)
	}
}

// library puts softmax of a, or, given its output b, the gradient of a on q by way of cuDNN.
func (l *Lanes) library(q *cuda.Queue, out, a, b unsafe.Pointer) error {
	switch {
	case l.dnn == nil:
		return cuda.ErrNotServed
	case b == nil:
		return l.dnn.Forward(q, out, a)
	}
	return l.dnn.Backward(q, out, a, b)
}
