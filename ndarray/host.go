package ndarray

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
	"gomx/op/loop"

	"gonum.org/v1/gonum/mat"
)

// FromSlice makes an array on the processor from a copy of data; without a shape it is a vector. It
// panics when the shape does not fit.
func FromSlice[T op.Element](data []T, shape ...int) *Array {
	s := Shape(shape).Clone()
	if len(shape) == 0 {
		s = Shape{len(data)}
	}
	if err := checkShape(s); err != nil {
		panic(misuse("FromSlice", "shape", "%v", err))
	}
	if s.Size() != len(data) {
		panic(misuse("FromSlice", "shape", "%v has %d elements, the slice has %d", s, s.Size(),
			len(data)))
	}
	a, err := newArray(engine.Default(), device.CPU(), op.TypeOf[T](), s, "")
	if err != nil {
		panic(misuse("FromSlice", "", "%v", err))
	}
	copy(unsafe.Slice((*T)(a.chunk.block.Ptr), len(data)), data)
	return a
}

// Values waits for a and returns its values; T must be the Go type of its elements.
func Values[T op.Element](a *Array) ([]T, error) {
	if t := op.TypeOf[T](); a.dtype != t {
		return nil, &op.Error{Op: "Values", Msg: fmt.Sprintf("the elements are %v, want %v",
			a.dtype, t), Site: op.CallSite()}
	}
	data := make([]T, a.Size())
	return data, a.ReadBytes(context.Background(), bytesOf(data))
}

// CopyFrom overwrites the values of a with data, whose length must be a.Size() and whose type must
// be the Go type of a's elements. It waits for pending operations on a, and returns when data has
// been copied.
func CopyFrom[T op.Element](a *Array, data []T) error {
	if t := op.TypeOf[T](); a.dtype != t || len(data) != a.Size() {
		return &op.Error{Op: "CopyFrom", Site: op.CallSite(),
			Msg: fmt.Sprintf("%d elements of %v, want %d of %v", len(data), t, a.Size(), a.dtype)}
	}
	return a.WriteBytes(bytesOf(data))
}

// CopyTo waits for a and copies its values into dst, a slice of a.Size() values of the Go type of
// a's elements.
func (a *Array) CopyTo(ctx context.Context, dst any) error {
	b, t, ok := bytesOfAny(dst)
	if !ok || t != a.dtype || len(b) != a.Bytes() {
		return &op.Error{Op: "CopyTo", Arg: "dst", Site: op.CallSite(),
			Msg: fmt.Sprintf("a %T of %d bytes, want a slice of %d elements of %v", dst, len(b),
				a.Size(), a.dtype)}
	}
	return a.ReadBytes(ctx, b)
}

// ReadBytes waits for a and copies its values, as they lie in memory, into dst, which must have
// a.Bytes() bytes.
func (a *Array) ReadBytes(ctx context.Context, dst []byte) error {
	if len(dst) != a.Bytes() {
		return &op.Error{Op: "ReadBytes", Arg: "dst", Msg: fmt.Sprintf("%d bytes, want %d",
			len(dst), a.Bytes()), Site: op.CallSite()}
	}
	return a.transfer(ctx, dst, false)
}

// WriteBytes overwrites the values of a with src as they lie in memory. It waits for pending
// operations on a, and returns when src has been copied.
func (a *Array) WriteBytes(src []byte) error {
	if len(src) != a.Bytes() {
		return &op.Error{Op: "WriteBytes", Arg: "src", Msg: fmt.Sprintf("%d bytes, want %d",
			len(src), a.Bytes()), Site: op.CallSite()}
	}
	return a.transfer(context.Background(), src, true)
}

// Float32s waits for a and returns its values converted to float32.
func (a *Array) Float32s() ([]float32, error) {
	if a.DType() == dtype.Float32 {
		return Values[float32](a)
	}
	wide, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	data := make([]float32, len(wide))
	for i, v := range wide {
		data[i] = float32(v)
	}
	return data, nil
}

// Float64s waits for a and returns its values converted to float64.
func (a *Array) Float64s() ([]float64, error) {
	if a.DType() == dtype.Float64 {
		return Values[float64](a)
	}
	raw := make([]uint64, (a.Bytes()+7)/8) // aligned for every element type
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if err := a.ReadBytes(context.Background(), unsafe.Slice((*byte)(p), a.Bytes())); err != nil {
		return nil, err
	}
	return loop.Floats(op.Tensor{Desc: op.Plain(a.dtype, a.shape), Data: p}), nil
}

// Item waits for an array of one element and returns it.
func (a *Array) Item() (float64, error) {
	if a.Size() != 1 {
		return 0, &op.Error{Op: "Item", Msg: fmt.Sprintf("the array has shape %v, want one element",
			a.shape), Site: op.CallSite()}
	}
	v, err := a.Float64s()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Wait waits until everything that writes a is complete, and returns the first error on the way to
// its values, naming the operation, its device and shapes.
func (a *Array) Wait(ctx context.Context) error {
	c := a.mem("Wait")
	defer runtime.KeepAlive(a)
	return c.eng.WaitRead(ctx, c.v)
}

// ClearError waits for a and accepts its values in spite of an error, if they are intact: if no
// operation failed while it was writing them. Otherwise it returns the error.
func (a *Array) ClearError() error {
	c := a.mem("ClearError")
	defer runtime.KeepAlive(a)
	return c.eng.ClearError(c.v)
}

// bytesOf views the memory of a slice as bytes.
func bytesOf[T op.Element](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))),
		len(data)*int(unsafe.Sizeof(zero)))
}

// bytesOfAny is bytesOf for a slice of any element type; ok is false for other values.
func bytesOfAny(data any) ([]byte, dtype.Type, bool) {
	switch d := data.(type) {
	case []float32:
		return bytesOf(d), dtype.Float32, true
	case []float64:
		return bytesOf(d), dtype.Float64, true
	case []dtype.Half:
		return bytesOf(d), dtype.Float16, true
	case []dtype.BF16:
		return bytesOf(d), dtype.BFloat16, true
	case []uint8:
		return d, dtype.Uint8, true
	case []int8:
		return bytesOf(d), dtype.Int8, true
	case []int16:
		return bytesOf(d), dtype.Int16, true
	case []uint16:
		return bytesOf(d), dtype.Uint16, true
	case []int32:
		return bytesOf(d), dtype.Int32, true
	case []uint32:
		return bytesOf(d), dtype.Uint32, true
	case []int64:
		return bytesOf(d), dtype.Int64, true
	case []uint64:
		return bytesOf(d), dtype.Uint64, true
	case []bool:
		return bytesOf(d), dtype.Bool, true
	}
	return nil, dtype.Unknown, false
}

// FromMat makes an array of float64 on the processor from a copy of a gonum matrix.
func FromMat(m mat.Matrix) *Array {
	rows, cols := m.Dims()
	if d, ok := m.(*mat.Dense); ok {
		if raw := d.RawMatrix(); raw.Stride == cols {
			return FromSlice(raw.Data[:rows*cols], rows, cols)
		}
	}
	data := make([]float64, 0, rows*cols)
	for i := range rows {
		for k := range cols {
			data = append(data, m.At(i, k))
		}
	}
	return FromSlice(data, rows, cols)
}

// Mat waits for a and returns a copy of its values as a gonum matrix. The array must have two axes,
// or one: a vector becomes a column. An array without elements becomes gonum's empty matrix.
func (a *Array) Mat() (*mat.Dense, error) {
	rows, cols := a.Size(), 1
	switch len(a.shape) {
	case 1:
	case 2:
		rows, cols = a.shape[0], a.shape[1]
	default:
		return nil, &op.Error{Op: "Mat",
			Msg:  fmt.Sprintf("the array has shape %v, want one or two axes", a.shape),
			Site: op.CallSite()}
	}
	v, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return &mat.Dense{}, nil
	}
	return mat.NewDense(rows, cols, v), nil
}
