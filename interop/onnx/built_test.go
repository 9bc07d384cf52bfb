package onnx_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"gomx/device"
	"gomx/dtype"
	"gomx/interop/onnx"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// attrs are attributes of a node: int, float64, string, lists of them, or a graph.
type attrs map[string]any

// protos converts attributes.
func (a attrs) protos(t *testing.T) []*onnxpb.AttributeProto {
	t.Helper()
	var list []*onnxpb.AttributeProto
	for name, v := range a {
		p := &onnxpb.AttributeProto{Name: proto.String(name)}
		switch v := v.(type) {
		case int:
			p.I, p.Type = proto.Int64(int64(v)), onnxpb.AttributeProto_INT.Enum()
		case float64:
			p.F, p.Type = proto.Float32(float32(v)), onnxpb.AttributeProto_FLOAT.Enum()
		case string:
			p.S, p.Type = []byte(v), onnxpb.AttributeProto_STRING.Enum()
		case []int:
			p.Type = onnxpb.AttributeProto_INTS.Enum()
			for _, x := range v {
				p.Ints = append(p.Ints, int64(x))
			}
		case []float64:
			p.Type = onnxpb.AttributeProto_FLOATS.Enum()
			for _, x := range v {
				p.Floats = append(p.Floats, float32(x))
			}
		case []string:
			p.Type = onnxpb.AttributeProto_STRINGS.Enum()
			for _, x := range v {
				p.Strings = append(p.Strings, []byte(x))
			}
		case *onnxpb.GraphProto:
			p.G, p.Type = v, onnxpb.AttributeProto_GRAPH.Enum()
		default:
			t.Fatalf("attribute %s of type %T", name, v)
		}
		list = append(list, p)
	}
	return list
}

// node makes a node of the operator domain:name, or name of the main domain.
func node(t *testing.T, domain, name string, in, out []string, a attrs) *onnxpb.NodeProto {
	t.Helper()
	return &onnxpb.NodeProto{OpType: proto.String(name), Domain: proto.String(domain), Input: in,
		Output: out, Attribute: a.protos(t)}
}

// info describes a tensor without its shape.
func info(name string, t dtype.Type) *onnxpb.ValueInfoProto {
	code := map[dtype.Type]onnxpb.TensorProto_DataType{
		dtype.Float32: onnxpb.TensorProto_FLOAT, dtype.Float64: onnxpb.TensorProto_DOUBLE,
		dtype.Int64: onnxpb.TensorProto_INT64, dtype.Int32: onnxpb.TensorProto_INT32,
		dtype.Uint8: onnxpb.TensorProto_UINT8, dtype.Int8: onnxpb.TensorProto_INT8,
		dtype.Bool: onnxpb.TensorProto_BOOL, dtype.Float16: onnxpb.TensorProto_FLOAT16,
	}[t]
	return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{
			ElemType: proto.Int32(int32(code))}}}}
}

// built is a model made by a test, with the values of its inputs.
type built struct {
	opset  int
	nodes  []*onnxpb.NodeProto
	inputs map[string]*nd.Array
	fixed  []string // inputs whose values are known at import
	outs   []string
	funcs  []*onnxpb.FunctionProto
}

// load serializes the model and imports it.
func (b built) load(t *testing.T) (*onnx.Model, error) {
	t.Helper()
	g := &onnxpb.GraphProto{Name: proto.String("test"), Node: b.nodes}
	shapes, values := map[string]dtype.Shape{}, map[string]*nd.Array{}
	for name, a := range b.inputs {
		g.Input = append(g.Input, info(name, a.DType()))
		shapes[name] = a.Shape()
	}
	for _, name := range b.fixed {
		values[name] = b.inputs[name]
	}
	for _, name := range b.outs {
		g.Output = append(g.Output, info(name, dtype.Float32))
	}
	opset := func(domain string, v int) *onnxpb.OperatorSetIdProto {
		return &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(int64(v))}
	}
	data, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: proto.Int64(9), Graph: g,
		Functions: b.funcs, OpsetImport: []*onnxpb.OperatorSetIdProto{opset("", b.opset),
			opset("com.microsoft", 1), opset("ai.onnx.ml", 5), opset("local", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	return onnx.Parse(data, onnx.Shapes(shapes), onnx.Values(values))
}

// run imports the model and returns the values of its outputs.
func (b built) run(t *testing.T) [][]float64 {
	t.Helper()
	m, err := b.load(t)
	if err != nil {
		t.Fatal(err)
	}
	return evaluate(t, m.Symbol, m.Values(b.inputs))
}

// evaluate returns the elements of the outputs of a symbol.
func evaluate(t *testing.T, s *sym.Symbol, values map[string]*nd.Array) [][]float64 {
	t.Helper()
	got, err := s.Eval(device.CPU(), values)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]float64
	for _, a := range got {
		v, err := numbers(a)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// random makes an array of numbers from low to high.
func random(r *rand.Rand, t dtype.Type, low, high float64, shape ...int) *nd.Array {
	list := make([]float64, dtype.Shape(shape).Size())
	for i := range list {
		list[i] = low + (high-low)*r.Float64()
	}
	return nd.Cast(nd.FromSlice(list, shape...), nd.CastParams{DType: t})
}

// gradients compares the gradient of a weighed sum of the first output, by the named inputs of
// float64, with differences.
func (b built) gradients(t *testing.T, r *rand.Rand, wrt ...string) {
	t.Helper()
	m, err := b.load(t)
	if err != nil {
		t.Fatal(err)
	}
	weight := random(r, dtype.Float64, 0.5, 1.5, m.Outputs[0].Shape...)
	sum := sym.Sum(sym.ElemwiseMul(m.Symbol.At(0), sym.Var("loss_weight")), sym.ReduceParams{})
	values := map[string]*nd.Array{}
	for name, a := range m.Values(b.inputs) {
		if slices.Contains(sum.Arguments(), name) {
			values[name] = a
		}
	}
	values["loss_weight"] = weight
	eval := func(s *sym.Symbol) [][]float64 { return evaluate(t, s, values) }
	got := eval(sum.Gradient(wrt...))
	for k, name := range wrt {
		base, err := numbers(b.inputs[name])
		if err != nil {
			t.Fatal(err)
		}
		moved := false
		for i := range base {
			const h = 1e-5
			at := func(d float64) float64 {
				list := append([]float64(nil), base...)
				list[i] += d
				values[name] = nd.FromSlice(list, b.inputs[name].Shape()...)
				return eval(sum)[0][0]
			}
			want := (at(h) - at(-h)) / (2 * h)
			if d := got[k][i] - want; d > 1e-5*(1+max(want, -want)) || -d > 1e-5*(1+max(want, -want)) {
				t.Errorf("gradient by %s: got %g at element %d, want %g", name, got[k][i], i, want)
			}
			moved = moved || want != 0
		}
		values[name] = b.inputs[name]
		if !moved {
			t.Errorf("the output does not depend on %s", name)
		}
	}
}
