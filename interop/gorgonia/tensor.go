package gorgonia

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gorgonia.org/tensor"
)

// Lend returns a as a tensor that shares its memory. The engine holds a for the tensor: pending
// operations on a are complete, and later ones wait until back is called. back may be called any
// number of times; the tensor must not be used after it. Lend fails when ctx ends first, when an
// operation on a has failed, or when Gorgonia has no such element type.
func Lend(ctx context.Context, a *nd.Array) (d *tensor.Dense, back func(), err error) {
	if _, err := backing(a, nil); err != nil {
		return nil, nil, err
	}
	if err := a.Wait(ctx); err != nil {
		return nil, nil, err
	}
	held := make(chan func(error), 1)
	a.Engine().Push(&engine.Task{
		Name:  "lend to gorgonia",
		Async: func(_ *engine.Run, done func(error)) { held <- done },
		Uses:  []engine.Use{{Var: a.Var(), Access: engine.Update}},
	})
	release := sync.OnceFunc(func() { (<-held)(nil) })
	select {
	case done := <-held:
		held <- done
	case <-ctx.Done():
		go release()
		return nil, nil, ctx.Err()
	}
	data, err := backing(a, a.Pointer())
	if err != nil {
		release()
		return nil, nil, err
	}
	a.Touch()
	return tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(data)), release, nil
}

// backing views memory at p as a Go slice of a's element type.
func backing(a *nd.Array, p unsafe.Pointer) (any, error) {
	n := a.Size()
	switch a.DType() {
	case dtype.Float32:
		return unsafe.Slice((*float32)(p), n*present(p)), nil
	case dtype.Float64:
		return unsafe.Slice((*float64)(p), n*present(p)), nil
	case dtype.Int32:
		return unsafe.Slice((*int32)(p), n*present(p)), nil
	case dtype.Int64:
		return unsafe.Slice((*int64)(p), n*present(p)), nil
	case dtype.Uint8:
		return unsafe.Slice((*uint8)(p), n*present(p)), nil
	}
	return nil, fmt.Errorf("gorgonia: element type %v is not supported, want float32, float64, int32, int64 or uint8", a.DType())
}

// present is 1 for memory that is there, so that a type can be checked without any.
func present(p unsafe.Pointer) int {
	if p == nil {
		return 0
	}
	return 1
}

// FromDense copies a tensor into a new array.
func FromDense(d *tensor.Dense) (*nd.Array, error) {
	if d.RequiresIterator() || !d.DataOrder().IsRowMajor() {
		m, ok := d.Materialize().(*tensor.Dense)
		if !ok {
			return nil, fmt.Errorf("gorgonia: a tensor of shape %v cannot be made dense", d.Shape())
		}
		d = m
	}
	shape := []int(d.Shape())
	switch data := d.Data().(type) {
	case []float32:
		return nd.FromSlice(data, shape...), nil
	case []float64:
		return nd.FromSlice(data, shape...), nil
	case []int32:
		return nd.FromSlice(data, shape...), nil
	case []int64:
		return nd.FromSlice(data, shape...), nil
	case []uint8:
		return nd.FromSlice(data, shape...), nil
	}
	return nil, fmt.Errorf("gorgonia: element type %v is not supported, want float32, float64, int32, int64 or uint8", d.Dtype())
}
