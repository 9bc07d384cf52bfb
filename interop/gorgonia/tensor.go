package gorgonia

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"gomx/device"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
	"gorgonia.org/tensor"
)

// grant is the engine's permission to use the memory of an array, until done is called.
type grant struct {
	done   func(error)
	poison error // error of the operation that should have computed the values; nil: they are valid
}

// Lend returns a as a tensor that shares its memory. The engine reserves a for the tensor: pending
// operations on a are complete, and later ones wait until back is called. back may be called more
// than once; after the first call the tensor must not be used. The tensor keeps a's memory alive
// until then. Lend fails if ctx ends first, if an operation on a has failed, or if Gorgonia cannot
// use the memory: if it is not on the processor, has an element type that Gorgonia does not have,
// or has no elements.
func Lend(ctx context.Context, a *nd.Array) (d *tensor.Dense, back func(), err error) {
	defer op.Recover(&err)
	e, err := lendable(a)
	if err != nil {
		return nil, nil, err
	}
	held := make(chan grant, 1)
	a.Engine().Push(&engine.Task{
		Name:   "lend to gorgonia",
		Async:  func(r *engine.Run, done func(error)) { held <- grant{done, r.Poison()} },
		Uses:   []engine.Use{{Var: a.Var(), Access: engine.Update}},
		NoSkip: true,
	})
	defer runtime.KeepAlive(a)
	var g grant
	select {
	case g = <-held:
	case <-ctx.Done():
		go func() { (<-held).done(nil) }()
		return nil, nil, ctx.Err()
	}
	if g.poison != nil {
		g.done(nil)
		return nil, nil, g.poison
	}
	a.Touch()
	d = tensor.New(tensor.WithShape(a.Shape()...),
		tensor.WithBacking(e.view(a.Pointer(), a.Size())))
	return d, sync.OnceFunc(func() { g.done(nil) }), nil
}

// lendable returns the element type of a, or an error if Gorgonia cannot use its memory.
func lendable(a *nd.Array) (*element, error) {
	if a.Device().Kind != device.KindCPU {
		return nil, fmt.Errorf("gorgonia: an array on %v cannot be lent, want one on the "+
			"processor: copy it with To first", a.Device())
	}
	if a.Size() == 0 {
		return nil, fmt.Errorf("gorgonia: an array of shape %v has no elements to lend", a.Shape())
	}
	for i, e := range elements {
		if e.dtype == a.DType() && e.view != nil {
			return &elements[i], nil
		}
	}
	return nil, fmt.Errorf("gorgonia: element type %v is not supported, want one of%s", a.DType(),
		supported())
}

// FromDense copies a tensor into a new array on the processor. Views, transposes and column-major
// tensors become dense and row-major, a scalar becomes an array of shape (1), int becomes int64.
// Masks are not copied.
func FromDense(d *tensor.Dense) (a *nd.Array, err error) {
	defer op.Recover(&err)
	if d == nil {
		return nil, fmt.Errorf("gorgonia: the tensor is nil")
	}
	e, err := elementOf(d.Dtype())
	if err != nil {
		return nil, fmt.Errorf("gorgonia: a tensor of shape %v: %w", d.Shape(), err)
	}
	if d.IsScalar() {
		return e.copy(d.Data(), []int{1}), nil
	}
	if d.RequiresIterator() || !d.DataOrder().IsRowMajor() {
		if d, err = rowMajor(d); err != nil {
			return nil, err
		}
	}
	return e.copy(d.Data(), d.Shape()), nil
}

// rowMajor copies a tensor whose elements are not contiguous in row-major order.
func rowMajor(d *tensor.Dense) (*tensor.Dense, error) {
	out := tensor.New(tensor.Of(d.Dtype()), tensor.WithShape(d.Shape().Clone()...))
	index := make([]int, d.Dims())
	for {
		v, err := d.At(index...)
		if err != nil {
			return nil, fmt.Errorf("gorgonia: element %v of a tensor of shape %v: %w", index,
				d.Shape(), err)
		}
		if err := out.SetAt(v, index...); err != nil {
			return nil, fmt.Errorf("gorgonia: element %v of a tensor of shape %v: %w", index,
				d.Shape(), err)
		}
		if !advance(index, d.Shape()) {
			return out, nil
		}
	}
}

// advance steps index to the next element in row-major order; it returns false after the last.
func advance(index, shape []int) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < shape[i] {
			return true
		}
		index[i] = 0
	}
	return false
}
