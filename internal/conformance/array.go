package conformance

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Array is a dense array on the host.
type Array struct {
	DType dtype.Type
	Shape dtype.Shape
	Data  []byte // little endian, row-major, aligned for any kernel
}

// NewArray returns an array of zeros.
func NewArray(t dtype.Type, s dtype.Shape) *Array {
	n := s.Size() * t.Size()
	buf := make([]byte, n+63, n+64)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(buf))) & 63)
	return &Array{t, s, buf[skip : skip+n : skip+n]}
}

// ArrayOf returns an array that holds a copy of data.
func ArrayOf[T op.Element](data []T, shape ...int) *Array {
	a := NewArray(op.TypeOf[T](), append(dtype.Shape{}, shape...))
	copy(Elements[T](a), data)
	return a
}

// Elements views the memory of a as elements of type T, whose size must be that of the dtype.
func Elements[T op.Element](a *Array) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.Data))), a.Shape.Size())
}

// Clone returns a copy.
func (a *Array) Clone() *Array {
	b := NewArray(a.DType, a.Shape.Clone())
	copy(b.Data, a.Data)
	return b
}

// Rows returns a copy of the first n rows.
func (a *Array) Rows(n int) *Array {
	s := a.Shape.Clone()
	s[0] = n
	b := NewArray(a.DType, s)
	copy(b.Data, a.Data)
	return b
}

// Row returns a copy of row i, without the first axis.
func (a *Array) Row(i int) *Array {
	b := NewArray(a.DType, a.Shape[1:].Clone())
	copy(b.Data, a.Data[i*len(b.Data):])
	return b
}

// Float64s converts the elements; integers beyond 2^53 are rounded.
func (a *Array) Float64s() []float64 {
	switch a.DType {
	case dtype.Float32:
		return convert[float32](a)
	case dtype.Float64:
		return convert[float64](a)
	case dtype.Uint8:
		return convert[uint8](a)
	case dtype.Int8:
		return convert[int8](a)
	case dtype.Int32:
		return convert[int32](a)
	case dtype.Int64:
		return convert[int64](a)
	}
	list := make([]float64, a.Shape.Size())
	switch a.DType {
	case dtype.Float16:
		for i, v := range Elements[dtype.Half](a) {
			list[i] = float64(v.Float32())
		}
	case dtype.BFloat16:
		for i, v := range Elements[dtype.BF16](a) {
			list[i] = float64(v.Float32())
		}
	case dtype.Bool:
		for i, v := range a.Data {
			list[i] = float64(v)
		}
	default:
		panic(fmt.Sprintf("conformance: no golden data has dtype %v", a.DType))
	}
	return list
}

func convert[T float32 | float64 | uint8 | int8 | int32 | int64](a *Array) []float64 {
	list := make([]float64, a.Shape.Size())
	for i, v := range Elements[T](a) {
		list[i] = float64(v)
	}
	return list
}

// as returns a copy with real elements of another type, rounded.
func (a *Array) as(t dtype.Type) *Array {
	b := NewArray(t, a.Shape.Clone())
	loop.Store(b.tensor(), 0, a.Float64s())
	return b
}

// tensor views the array as an operand.
func (a *Array) tensor() op.Tensor {
	return op.Tensor{Desc: op.Plain(a.DType, a.Shape), Data: unsafe.Pointer(unsafe.SliceData(a.Data))}
}
