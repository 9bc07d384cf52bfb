package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	"gomx/op"
)

// pen writes ONNX nodes and constants, which are named after the node that they come from. It keeps
// track of shapes and types.
type pen struct {
	ex   *exporting
	node *op.Node
}

// nodes adds a node with several outputs, which are described by values without names. An output
// with an unknown type is left out.
func (w *pen) nodes(kind string, in, outs []value, attrs ...*attribute) []value {
	base := w.node.Name + "_" + strings.ToLower(kind)
	n := &onnxpb.NodeProto{OpType: proto.String(kind), Attribute: attrs}
	for _, v := range in {
		n.Input = append(n.Input, v.name)
	}
	made := make([]value, len(outs))
	for i, v := range outs {
		if v.typ != dtype.Unknown {
			v.name = w.ex.unique(base)
		}
		made[i] = v
		n.Output = append(n.Output, v.name)
	}
	n.Name = proto.String(n.Output[0])
	w.ex.graph.Node = append(w.ex.graph.Node, n)
	return made
}

// add adds a node with one output of a shape and a type.
func (w *pen) add(kind string, shape dtype.Shape, typ dtype.Type, in []value,
	attrs ...*attribute) value {
	return w.nodes(kind, in, []value{{"", shape, typ}}, attrs...)[0]
}

// attribute is an attribute of a node.
type attribute = onnxpb.AttributeProto

// ints is an attribute of integers.
func ints(name string, list ...int) *attribute {
	a := &attribute{Name: proto.String(name),
		Type: onnxpb.AttributeProto_INTS.Enum(), Ints: []int64{}}
	for _, v := range list {
		a.Ints = append(a.Ints, int64(v))
	}
	return a
}

// num is an attribute of one integer.
func num(name string, v int) *attribute {
	return &attribute{Name: proto.String(name), Type: onnxpb.AttributeProto_INT.Enum(),
		I: proto.Int64(int64(v))}
}

// float is an attribute of one number.
func float(name string, v float64) *attribute {
	return &attribute{Name: proto.String(name),
		Type: onnxpb.AttributeProto_FLOAT.Enum(), F: proto.Float32(float32(v))}
}

// text is an attribute of text.
func text(name, v string) *attribute {
	return &attribute{Name: proto.String(name),
		Type: onnxpb.AttributeProto_STRING.Enum(), S: []byte(v)}
}

// texts is an attribute of several texts.
func texts(name string, list ...string) *attribute {
	a := &attribute{Name: proto.String(name), Type: onnxpb.AttributeProto_STRINGS.Enum()}
	for _, v := range list {
		a.Strings = append(a.Strings, []byte(v))
	}
	return a
}

// codes are ONNX's element types.
var codes = map[dtype.Type]onnxpb.TensorProto_DataType{
	dtype.Float32: onnxpb.TensorProto_FLOAT, dtype.Float64: onnxpb.TensorProto_DOUBLE,
	dtype.Float16: onnxpb.TensorProto_FLOAT16, dtype.BFloat16: onnxpb.TensorProto_BFLOAT16,
	dtype.Int8: onnxpb.TensorProto_INT8, dtype.Int16: onnxpb.TensorProto_INT16,
	dtype.Int32: onnxpb.TensorProto_INT32, dtype.Int64: onnxpb.TensorProto_INT64,
	dtype.Uint8: onnxpb.TensorProto_UINT8, dtype.Uint16: onnxpb.TensorProto_UINT16,
	dtype.Uint32: onnxpb.TensorProto_UINT32, dtype.Uint64: onnxpb.TensorProto_UINT64,
	dtype.Bool: onnxpb.TensorProto_BOOL,
}

// code is ONNX's number of an element type.
func code(t dtype.Type) int32 { return int32(codes[t]) }

// header makes a tensor without values.
func header(v value) *onnxpb.TensorProto {
	t := &onnxpb.TensorProto{Name: proto.String(v.name), DataType: proto.Int32(code(v.typ))}
	for _, d := range v.shape {
		t.Dims = append(t.Dims, int64(d))
	}
	return t
}

// constant makes an initializer of numbers, which are rounded to the type. Equal constants are one.
func (w *pen) constant(typ dtype.Type, shape dtype.Shape, numbers ...float64) value {
	raw := make([]byte, 0, len(numbers)*typ.Size())
	for _, v := range numbers {
		raw = appendNumber(raw, typ, v)
	}
	key := fmt.Sprintf("%d %v %s", typ, shape, raw)
	if v, ok := w.ex.constants[key]; ok {
		return v
	}
	v := w.initializer(value{fmt.Sprintf("constant_%d", len(w.ex.constants)), shape, typ}, raw)
	w.ex.constants[key] = v
	if typ == dtype.Float32 && len(numbers) == 1 {
		w.ex.numbers[v.name] = float64(float32(numbers[0]))
	}
	return v
}

// initializer adds an initializer of bytes, under the name of v or one like it.
func (w *pen) initializer(v value, raw []byte) value {
	v.name = w.ex.unique(v.name)
	t := header(v)
	t.RawData = raw
	w.ex.graph.Initializer = append(w.ex.graph.Initializer, t)
	return v
}

// appendNumber appends the little-endian bytes of a number in a type.
func appendNumber(raw []byte, typ dtype.Type, v float64) []byte {
	le := binary.LittleEndian
	switch typ {
	case dtype.Float32:
		return le.AppendUint32(raw, math.Float32bits(float32(v)))
	case dtype.Float64:
		return le.AppendUint64(raw, math.Float64bits(v))
	case dtype.Float16:
		return le.AppendUint16(raw, uint16(dtype.HalfOf(float32(v))))
	case dtype.BFloat16:
		return le.AppendUint16(raw, uint16(dtype.BF16Of(float32(v))))
	case dtype.Bool:
		if v != 0 {
			return append(raw, 1)
		}
		return append(raw, 0)
	}
	bits := uint64(int64(v))
	if v >= 1<<63 {
		bits = uint64(v)
	}
	var b [8]byte
	le.PutUint64(b[:], bits)
	return append(raw, b[:typ.Size()]...)
}

// scalar is a constant of rank zero.
func (w *pen) scalar(typ dtype.Type, v float64) value { return w.constant(typ, dtype.Shape{}, v) }

// like is a constant of rank zero in the type of x.
func (w *pen) like(x value, v float64) value { return w.scalar(x.typ, v) }

// indices is a constant of int64.
func (w *pen) indices(list ...int) value {
	numbers := make([]float64, len(list))
	for i, v := range list {
		numbers[i] = float64(v)
	}
	return w.constant(dtype.Int64, dtype.Shape{len(list)}, numbers...)
}
