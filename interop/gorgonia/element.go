package gorgonia

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gorgonia.org/tensor"
)

// element is an element type that both gomx and Gorgonia have.
type element struct {
	dtype dtype.Type
	of    tensor.Dtype
	// view returns the n elements at p as a slice; view is nil if the layouts differ.
	view func(p unsafe.Pointer, n int) any
	// copy makes an array from a slice of the type, or from one value.
	copy func(data any, shape []int) *nd.Array
}

// elements lists the types that both have. Gorgonia's int is gomx's int64.
var elements = [...]element{
	{dtype.Float32, tensor.Float32, viewAs[float32], copyOf[float32]},
	{dtype.Float64, tensor.Float64, viewAs[float64], copyOf[float64]},
	{dtype.Int8, tensor.Int8, viewAs[int8], copyOf[int8]},
	{dtype.Int32, tensor.Int32, viewAs[int32], copyOf[int32]},
	{dtype.Int64, tensor.Int64, viewAs[int64], copyOf[int64]},
	{dtype.Uint8, tensor.Uint8, viewAs[uint8], copyOf[uint8]},
	{dtype.Bool, tensor.Bool, viewAs[bool], copyOf[bool]},
	{dtype.Int64, tensor.Int, nil, copyInts},
}

func viewAs[T any](p unsafe.Pointer, n int) any { return unsafe.Slice((*T)(p), n) }

func copyOf[T op.Element](data any, shape []int) *nd.Array {
	if one, ok := data.(T); ok {
		return nd.FromSlice([]T{one}, shape...)
	}
	return nd.FromSlice(data.([]T), shape...)
}

func copyInts(data any, shape []int) *nd.Array {
	if one, ok := data.(int); ok {
		return nd.FromSlice([]int64{int64(one)}, shape...)
	}
	list := data.([]int)
	wide := make([]int64, len(list))
	for i, v := range list {
		wide[i] = int64(v)
	}
	return nd.FromSlice(wide, shape...)
}

// elementOf returns the element type for tensors of type t.
func elementOf(t tensor.Dtype) (*element, error) {
	for i, e := range elements {
		if e.of == t {
			return &elements[i], nil
		}
	}
	return nil, fmt.Errorf("element type %v is not supported, want int or one of%s", t, supported())
}

// supported lists the element types for error messages.
func supported() string {
	text := ""
	for _, e := range elements {
		if e.view != nil {
			text += " " + e.dtype.String()
		}
	}
	return text
}
