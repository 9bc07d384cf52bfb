//go:build cuda

package attach

import (
	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// CUDA attaches a kernel for GPUs.
func CUDA[P any](h op.Handle[P], prepare op.Prepare[P]) {
	h.Kernel(device.KindCUDA, device.TierRef, prepare)
}

// OnQueue makes a prepared kernel of a function that puts its work on a queue.
func OnQueue(scratch int, run func(q *cuda.Queue, c *op.Call) error) (*op.Prepared, error) {
	return &op.Prepared{Scratch: scratch,
		Run: func(c *op.Call) error { return run(c.Queue.(*cuda.Queue), c) }}, nil
}

// OnQueueDrawing is OnQueue for a function that takes its random numbers from Queue.Seed alone.
func OnQueueDrawing(scratch int, run func(q *cuda.Queue, c *op.Call) error) (*op.Prepared, error) {
	k, err := OnQueue(scratch, run)
	k.Redraws = true
	return k, err
}

// OneFloat returns the element type that all operands have, if it is one of floating-point numbers.
func OneFloat(a *op.Args) (dtype.Type, bool) {
	t := dtype.Unknown
	for _, list := range [][]op.Desc{a.In, a.Out} {
		for _, d := range list {
			if t == dtype.Unknown {
				t = d.DType
			}
			if d.DType != t {
				return t, false
			}
		}
	}
	return t, !loop.Exact(t)
}

// CUDAMap prepares a pointwise kernel from input 0 to output 0, with its numbers.
func CUDAMap(a *op.Args, name string, numbers ...float64) (*op.Prepared, error) {
	t := a.In[0].DType
	if t != a.Out[0].DType || !cuda.Takes(name, t) {
		return nil, op.ErrUnsupported
	}
	m := cuda.NewMap(name, t, a.Out[0].Shape.Size())
	for i, v := range numbers {
		*[]*float64{&m.S, &m.T}[i] = v
	}
	k, err := OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return m.Run(q, c.Out[0].Data, c.In[0].Data, nil)
	})
	k.Elem = Elem{Name: name, S: m.S, T: m.T, operands: 1}
	return k, err
}

// Elem names the function that a pointwise kernel applies to each element, for chains of kernels.
type Elem struct {
	Name string
	S, T float64

	operands      int
	first, second int // inputs that they are
}

// Pick returns the operands of the function among the inputs of the operator.
func (e Elem) Pick(inputs []int) []int {
	return []int{inputs[e.first], inputs[e.second]}[:e.operands]
}

// CUDAZip prepares a pointwise kernel from inputs first and second, which broadcast, to output 0.
func CUDAZip(a *op.Args, name string, first, second int) (*op.Prepared, error) {
	return CUDAZipWith(a, name, first, second, 0)
}

// CUDAZipWith is CUDAZip for a kernel with a number.
func CUDAZipWith(a *op.Args, name string, first, second int, number float64) (*op.Prepared, error) {
	t := a.Out[0].DType
	if a.In[first].DType != t || a.In[second].DType != t || !cuda.Takes(name, t) {
		return nil, op.ErrUnsupported
	}
	out := a.Out[0].Shape
	x, y := a.In[first].Shape, a.In[second].Shape
	m := cuda.NewMap(name, t, out.Size())
	m.S = number
	if x.Size() != out.Size() || y.Size() != out.Size() {
		w, ok := cuda.NewWalk(out, loop.Broadcast(x, out), loop.Broadcast(y, out))
		if !ok {
			return nil, op.ErrUnsupported
		}
		m.Broadcast(w)
	}
	k, err := OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return m.Run(q, c.Out[0].Data, c.In[first].Data, c.In[second].Data)
	})
	k.Elem = Elem{Name: name, S: number, operands: 2, first: first, second: second}
	return k, err
}

// CUDAUnary is the Prepare of operators that are always one function.
func CUDAUnary[P any](name string, numbers ...float64) op.Prepare[P] {
	return func(_ P, a *op.Args) (*op.Prepared, error) { return CUDAMap(a, name, numbers...) }
}

// CUDABinary is the Prepare of operators that are always one function of two operands.
func CUDABinary[P any](name string) op.Prepare[P] {
	return func(_ P, a *op.Args) (*op.Prepared, error) { return CUDAZip(a, name, 0, 1) }
}
