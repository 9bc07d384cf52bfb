package onnx

import (
	"fmt"
	"maps"
	"strings"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	"gomx/interop/onnx/internal/onnxpb"
)

// Port describes an input or an output as a file has it.
type Port struct {
	Name string `json:"name"`
	// Type is gomx's name of the element type, or ONNX's where gomx has none, such as INT4. Other
	// values than tensors are sequence, map, optional or unknown.
	Type string `json:"dtype"`
	// Dims are the extents: numbers, names such as batch, or ? where the file says nothing.
	Dims []string `json:"dims"`
	Open bool     `json:"open,omitempty"` // the file does not tell the number of axes; Dims is nil
}

// String describes the port as in "x: float32 (batch, 3, 224, 224)".
func (p Port) String() string {
	dims := "of any shape"
	if !p.Open {
		dims = "(" + strings.Join(p.Dims, ", ") + ")"
	}
	return fmt.Sprintf("%s: %s %s", p.Name, p.Type, dims)
}

// Parameter describes an initializer of a file.
type Parameter struct {
	Name  string  `json:"name"`
	Type  string  `json:"dtype"` // as in Port
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"` // size of the values; 0: gomx lacks the type
}

// About describes a file.
type About struct {
	Producer string `json:"producer"` // program that wrote the file, and its version
	// Opsets are the versions of the operator sets by domain; the main domain is ai.onnx.
	Opsets  map[string]int `json:"opsets"`
	Inputs  []Port         `json:"inputs"` // inputs without an initializer
	Outputs []Port         `json:"outputs"`
	// Operators has the number of nodes by operator, also those of inner graphs and of functions.
	Operators  map[string]int `json:"operators"`
	Parameters []Parameter    `json:"parameters"` // initializers of the outermost graph
	// Metadata are the texts that the program wrote beside the graph, such as a list of labels.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// About describes the file without an import.
func (f *File) About() About {
	g := f.model.GetGraph()
	a := About{Opsets: map[string]int{}, Operators: map[string]int{}, Inputs: f.Inputs(),
		Metadata: f.Metadata(),
		Producer: strings.TrimSpace(f.model.GetProducerName() + " " +
			f.model.GetProducerVersion())}
	maps.Copy(a.Opsets, f.versions)
	if v, ok := a.Opsets[""]; ok {
		delete(a.Opsets, "")
		a.Opsets["ai.onnx"] = v
	}
	for _, o := range g.GetOutput() {
		a.Outputs = append(a.Outputs, portOf(o))
	}
	count(g.GetNode(), a.Operators)
	for _, fn := range f.model.GetFunctions() {
		count(fn.GetNode(), a.Operators)
	}
	for _, t := range g.GetInitializer() {
		p := Parameter{Name: t.GetName(), Type: typeName(t.GetDataType()), Shape: t.GetDims()}
		typ, err := file.ElementType(t.GetDataType())
		_, n, bad := file.Shape(t.GetDims())
		if err == nil && bad == nil {
			p.Bytes = int64(n) * int64(typ.Size())
		}
		a.Parameters = append(a.Parameters, p)
	}
	return a
}

// Metadata returns the texts that a program wrote beside the graph, by name: labels, characters, or a
// license. It is nil if there are none. Where a name is twice in the file, the last text counts.
func (f *File) Metadata() map[string]string {
	var texts map[string]string
	for _, p := range f.model.GetMetadataProps() {
		if texts == nil {
			texts = map[string]string{}
		}
		texts[p.GetKey()] = p.GetValue()
	}
	return texts
}

// Inputs describes the inputs that have no initializer, in the model's order.
func (f *File) Inputs() []Port {
	g := f.model.GetGraph()
	known := map[string]bool{}
	for _, t := range g.GetInitializer() {
		known[t.GetName()] = true
	}
	var list []Port
	for _, in := range g.GetInput() {
		if !known[in.GetName()] {
			list = append(list, portOf(in))
		}
	}
	return list
}

// count adds the operators of nodes, and of the graphs in their attributes, to counts.
func count(nodes []*onnxpb.NodeProto, counts map[string]int) {
	for _, n := range nodes {
		counts[qualified(mainDomain(n.GetDomain()), n.GetOpType())]++
		for _, a := range n.GetAttribute() {
			for _, inner := range file.Graphs(a) {
				count(inner.GetNode(), counts)
			}
		}
	}
}

// portOf describes an input or an output.
func portOf(v *onnxpb.ValueInfoProto) Port {
	p := Port{Name: v.GetName(), Open: true}
	t := v.GetType().GetTensorType()
	if t == nil {
		switch v.GetType().GetValue().(type) {
		case *onnxpb.TypeProto_SequenceType:
			p.Type = "sequence"
		case *onnxpb.TypeProto_MapType:
			p.Type = "map"
		case *onnxpb.TypeProto_OptionalType:
			p.Type = "optional"
		default:
			p.Type = "unknown"
		}
		return p
	}
	p.Type = typeName(t.GetElemType())
	if t.GetShape() == nil {
		return p
	}
	p.Open = false
	for _, d := range t.GetShape().GetDim() {
		n := -1
		if d.GetDimParam() == "" && d.Value != nil {
			n = int(d.GetDimValue())
		}
		p.Dims = append(p.Dims, dimText(d, n))
	}
	return p
}

// typeName names an element type.
func typeName(code int32) string {
	if t, err := file.ElementType(code); err == nil && file.FormatOf(code) == nil {
		return t.String()
	}
	return onnxpb.TensorProto_DataType(code).String()
}

// Fit returns the shape of ONNX for an array of shape s that is given to an input: a scalar's array
// has shape (1).
func (p Port) Fit(s dtype.Shape) dtype.Shape {
	if !p.Open && len(p.Dims) == 0 && s.Size() == 1 {
		return dtype.Shape{}
	}
	return s
}
