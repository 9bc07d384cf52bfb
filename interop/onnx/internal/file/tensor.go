package file

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// elementTypes maps the element types of ONNX that gomx has.
var elementTypes = map[onnxpb.TensorProto_DataType]dtype.Type{
	onnxpb.TensorProto_FLOAT:    dtype.Float32,
	onnxpb.TensorProto_DOUBLE:   dtype.Float64,
	onnxpb.TensorProto_FLOAT16:  dtype.Float16,
	onnxpb.TensorProto_BFLOAT16: dtype.BFloat16,
	onnxpb.TensorProto_INT8:     dtype.Int8,
	onnxpb.TensorProto_INT16:    dtype.Int16,
	onnxpb.TensorProto_INT32:    dtype.Int32,
	onnxpb.TensorProto_INT64:    dtype.Int64,
	onnxpb.TensorProto_UINT8:    dtype.Uint8,
	onnxpb.TensorProto_UINT16:   dtype.Uint16,
	onnxpb.TensorProto_UINT32:   dtype.Uint32,
	onnxpb.TensorProto_UINT64:   dtype.Uint64,
	onnxpb.TensorProto_BOOL:     dtype.Bool,
}

// ElementType returns the type that an ONNX code stands for, or the type that holds its format.
func ElementType(code int32) (dtype.Type, error) {
	t, ok := elementTypes[onnxpb.TensorProto_DataType(code)]
	if f := FormatOf(code); f != nil {
		return f.Stored, nil
	}
	if !ok {
		return dtype.Unknown, fmt.Errorf("element type %v, which gomx does not have",
			onnxpb.TensorProto_DataType(code))
	}
	return t, nil
}

// Array makes an array of a tensor. Memory is taken after the file has shown as many bytes.
func Array(t *onnxpb.TensorProto, root *os.Root) (*nd.Array, dtype.Shape, error) {
	typ, err := ElementType(t.GetDataType())
	if err != nil {
		return nil, nil, fmt.Errorf("tensor %q has %w", t.GetName(), err)
	}
	shape, size, err := Shape(t.GetDims())
	if err != nil {
		return nil, nil, fmt.Errorf("tensor %q: %w", t.GetName(), err)
	}
	if f := FormatOf(t.GetDataType()); f != nil {
		a, err := f.array(t, shape, size, root)
		if err != nil {
			err = fmt.Errorf("tensor %q of shape %v and type %s: %w", t.GetName(), shape, f.Name, err)
		}
		return a, shape, err
	}
	raw, err := rawBytes(t, typ, size*typ.Size(), root)
	if err != nil {
		return nil, nil, fmt.Errorf("tensor %q of shape %v and type %v: %w", t.GetName(), shape,
			typ, err)
	}
	if typ == dtype.Bool {
		raw = truth(raw)
	}
	a := nd.Empty(Stored(shape), nd.As(typ))
	if err := a.WriteBytes(raw); err != nil {
		return nil, nil, fmt.Errorf("tensor %q: %w", t.GetName(), err)
	}
	return a, shape, nil
}

// truth makes bytes that are not zero one.
func truth(raw []byte) []byte {
	out := make([]byte, len(raw))
	for i, b := range raw {
		if b != 0 {
			out[i] = 1
		}
	}
	return out
}

// Stored returns the shape of the array for a tensor: rank zero becomes (1).
func Stored(s dtype.Shape) dtype.Shape {
	if len(s) == 0 {
		return dtype.Shape{1}
	}
	return s
}

// Shape checks extents and returns the number of elements.
func Shape(dims []int64) (dtype.Shape, int, error) {
	const most = 1 << 40
	if len(dims) > maxRank {
		return nil, 0, fmt.Errorf("%d axes, want at most %d", len(dims), maxRank)
	}
	shape, size := dtype.Shape{}, 1
	for _, d := range dims {
		if d < 0 || d > most || d > 0 && size > most/int(d) {
			return nil, 0, fmt.Errorf("the shape %v has no possible size", dims)
		}
		shape, size = append(shape, int(d)), size*int(d)
	}
	return shape, size, nil
}

// rawBytes returns the little-endian bytes of a tensor: external, raw, or converted from the typed
// field. There are always exactly want bytes.
func rawBytes(t *onnxpb.TensorProto, typ dtype.Type, want int, root *os.Root) ([]byte, error) {
	switch {
	case t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL:
		return external(t, want, root)
	case t.RawData != nil:
		if len(t.RawData) != want {
			return nil, fmt.Errorf("%d bytes of data, want %d", len(t.RawData), want)
		}
		return t.RawData, nil
	}
	found := fieldLen(t, typ)
	if found != want/typ.Size() {
		return nil, fmt.Errorf("%d elements, want %d", found, want/typ.Size())
	}
	raw := make([]byte, 0, want)
	for i := range found {
		raw = appendElement(raw, t, typ, i)
	}
	return raw, nil
}

// fieldLen returns the number of elements in the typed field for a type.
func fieldLen(t *onnxpb.TensorProto, typ dtype.Type) int {
	switch typ {
	case dtype.Float32:
		return len(t.FloatData)
	case dtype.Float64:
		return len(t.DoubleData)
	case dtype.Int64:
		return len(t.Int64Data)
	case dtype.Uint32, dtype.Uint64:
		return len(t.Uint64Data)
	}
	return len(t.Int32Data)
}

// appendElement appends element i of the typed field; ONNX keeps narrow types, halves by their
// bits, in int32_data.
func appendElement(raw []byte, t *onnxpb.TensorProto, typ dtype.Type, i int) []byte {
	le := binary.LittleEndian
	switch typ {
	case dtype.Float32:
		return le.AppendUint32(raw, math.Float32bits(t.FloatData[i]))
	case dtype.Float64:
		return le.AppendUint64(raw, math.Float64bits(t.DoubleData[i]))
	case dtype.Int64:
		return le.AppendUint64(raw, uint64(t.Int64Data[i]))
	case dtype.Uint64:
		return le.AppendUint64(raw, t.Uint64Data[i])
	case dtype.Uint32:
		return le.AppendUint32(raw, uint32(t.Uint64Data[i]))
	}
	v := t.Int32Data[i]
	switch typ.Size() {
	case 1:
		if typ == dtype.Bool && v != 0 {
			v = 1
		}
		return append(raw, byte(v))
	case 2:
		return le.AppendUint16(raw, uint16(v))
	}
	return le.AppendUint32(raw, uint32(v))
}
