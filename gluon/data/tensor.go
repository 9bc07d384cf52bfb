package data

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Tensor is an array in the memory of the program: one part of a sample. Workers make tensors
// without the engine of package ndarray; the loader copies them into the arrays of a batch.
type Tensor struct {
	DType dtype.Type
	Shape nd.Shape // empty for a scalar
	Bytes []byte   // elements in row-major order, as they lie in memory
}

// Sample is one example of a data set: its parts in a fixed order, mostly data and label.
type Sample []Tensor

// Values returns a tensor that shares the memory of values; without a shape it is a vector.
func Values[T op.Element](values []T, shape ...int) Tensor {
	s := append(nd.Shape{}, shape...)
	if len(shape) == 0 {
		s = nd.Shape{len(values)}
	}
	return Tensor{op.TypeOf[T](), s, bytesOf(values)}
}

// Scalar returns a tensor of one element without axes, such as the number of a class.
func Scalar[T op.Element](v T) Tensor {
	return Tensor{op.TypeOf[T](), nd.Shape{}, bytesOf([]T{v})}
}

// FromArray returns a tensor that holds a copy of the values of an array. It waits for them.
func FromArray(ctx context.Context, a *nd.Array) (Tensor, error) {
	t := Tensor{a.DType(), a.Shape().Clone(), make([]byte, a.Bytes())}
	return t, a.ReadBytes(ctx, t.Bytes)
}

// Elements returns the elements of a tensor. They share its memory, unless Bytes begins at an
// address that the processor cannot read elements from.
func Elements[T op.Element](t Tensor) ([]T, error) {
	if want := op.TypeOf[T](); t.DType != want {
		return nil, fmt.Errorf("data: the elements of the tensor are %v, want %v", t.DType, want)
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	n := len(t.Bytes) / t.DType.Size()
	p := unsafe.Pointer(unsafe.SliceData(t.Bytes))
	if uintptr(p)%unsafe.Alignof(*new(T)) == 0 {
		return unsafe.Slice((*T)(p), n), nil
	}
	list := make([]T, n)
	copy(bytesOf(list), t.Bytes)
	return list, nil
}

// Len returns the extent of the first axis, 1 for a scalar.
func (t Tensor) Len() int {
	if len(t.Shape) == 0 {
		return 1
	}
	return t.Shape[0]
}

// check reports a tensor whose memory does not have the size of its shape.
func (t Tensor) check() error {
	if !t.DType.Valid() {
		return fmt.Errorf("a tensor of %v, want an element type", t.DType)
	}
	if n, ok := size(t.DType, t.Shape); !ok || n != len(t.Bytes) {
		return fmt.Errorf("a tensor of shape %v and %v has %d bytes", t.Shape, t.DType,
			len(t.Bytes))
	}
	return nil
}

// size returns the bytes of an array; ok is false if the memory of no machine holds them.
func size(t dtype.Type, shape nd.Shape) (n int, ok bool) {
	n = t.Size()
	for _, d := range shape {
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if d < 0 || hi != 0 || lo > 1<<48 {
			return 0, false
		}
		n = int(lo)
	}
	return n, true
}

// String describes the tensor without its values.
func (t Tensor) String() string { return fmt.Sprintf("<Tensor %v %v>", t.Shape, t.DType) }

// bytesOf views the memory of a slice.
func bytesOf[T op.Element](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))),
		len(v)*int(unsafe.Sizeof(*new(T))))
}
