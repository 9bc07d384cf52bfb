package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"gomx/checkpoint"
	"gomx/compile"
	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// value is a value of the ONNX graph that is made. The zero value is an input that is left out.
type value struct {
	name  string
	shape dtype.Shape
	typ   dtype.Type
}

// exporting is the state of one export.
type exporting struct {
	config    config
	facts     *compile.Inferred
	fixed     map[string]*nd.Array // parameters and states by name
	graph     *onnxpb.GraphProto
	params    []parameter
	values    map[op.Entry]value
	taken     map[string]bool    // names of values
	constants map[string]value   // by type, shape and bytes
	numbers   map[string]float64 // constants and parameters of one float32 number, by name
	codings   map[string]coding  // of integers whose step is known, by name
	states    []value            // further outputs of the training form
	missing   []string           // operators that cannot be exported, with reasons
}

// Unsupported is the error of a symbol with operators that cannot be exported.
type Unsupported struct {
	Operators []string // each with its node and the reason
}

// Error lists the operators.
func (e *Unsupported) Error() string {
	return "operators that cannot be exported: " + strings.Join(e.Operators, "; ")
}

func newExport(m *checkpoint.Model, inputs Inputs, c config) (*exporting, error) {
	ex := &exporting{config: c, fixed: map[string]*nd.Array{}, graph: &onnxpb.GraphProto{},
		values: map[op.Entry]value{}, taken: map[string]bool{}, constants: map[string]value{},
		numbers: map[string]float64{}, codings: map[string]coding{}}
	ex.graph.Name = proto.String("gomx")
	maps.Copy(ex.fixed, m.Args)
	maps.Copy(ex.fixed, m.Aux)
	s := m.Symbol
	if err := s.Err(); err != nil {
		return nil, err
	}
	s.Outputs() // gives all nodes names
	given := compile.Given{Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{}}
	maps.Copy(given.Types, c.types)
	known := slices.Concat(s.Arguments(), s.AuxStates())
	for name, shape := range inputs {
		if ex.fixed[name] != nil {
			return nil, fmt.Errorf("input %q is a parameter of the model", name)
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("input %q is not an argument of the symbol, which has %s", name,
				strings.Join(known, ", "))
		}
		given.Shapes[name] = shape
	}
	for _, name := range known {
		if a := ex.fixed[name]; a != nil {
			given.Shapes[name], given.Types[name] = a.Shape(), a.DType()
		}
		ex.taken[name] = true
	}
	for _, name := range s.Outputs() {
		ex.taken[name] = true
	}
	var err error
	ex.facts, err = compile.Infer(s.Entries(), given)
	return ex, err
}

// run exports all nodes and names the outputs.
func (ex *exporting) run(s *sym.Symbol) error {
	inputs := map[string]value{}
	for _, n := range s.Nodes() {
		if n.IsVar() {
			ex.variable(n, inputs)
			continue
		}
		if err := ex.node(n); err != nil {
			return err
		}
	}
	if len(ex.missing) > 0 {
		return &Unsupported{ex.missing}
	}
	if err := ex.outputs(s); err != nil {
		return err
	}
	read := ex.dropUnused()
	for _, name := range slices.Concat(s.Arguments(), s.AuxStates()) {
		if v, ok := inputs[name]; ok && read[name] {
			if !v.shape.Known() || v.typ == dtype.Unknown {
				return fmt.Errorf("the shape of input %q is not known: give it", name)
			}
			ex.graph.Input = append(ex.graph.Input, ex.info(v))
		}
	}
	return nil
}

// variable makes a parameter or notes an input.
func (ex *exporting) variable(n *op.Node, inputs map[string]value) {
	shape, typ := ex.facts.Of(n.Entry(0))
	v := value{n.Name, shape, typ}
	ex.values[n.Entry(0)] = v
	if a := ex.fixed[n.Name]; a != nil {
		t := header(v)
		ex.graph.Initializer = append(ex.graph.Initializer, t)
		ex.params = append(ex.params, parameter{t, a})
		if typ == dtype.Float32 && a.Size() == 1 {
			if list, err := a.Float32s(); err == nil {
				ex.numbers[n.Name] = float64(list[0])
			}
		}
		return
	}
	inputs[n.Name] = v
}

// node exports one node by its rule.
func (ex *exporting) node(n *op.Node) error {
	if err := ex.known(n); err != nil {
		return err
	}
	c := &call{pen: pen{ex, n}}
	for i := range n.NumOutputs() {
		shape, typ := ex.facts.Of(n.Entry(i))
		c.outs = append(c.outs, value{"", shape, typ})
	}
	var outs []value
	rule, why := table[n.Op], reasons[n.Op]
	if l := ex.codedLayer(n); l != nil {
		rule = l.export
	}
	switch {
	case rule != nil && !c.outs[0].shape.Known():
		c.fail("the shape of its output is not known")
	case rule != nil:
		outs = rule(c)
	case why != "":
		c.fail("%s", why)
	case n.Draws():
		c.fail("it draws random numbers")
	case n.Op.Own:
		c.fail("it is an operator of the program")
	default:
		c.fail("no form in ONNX is known")
	}
	if c.failed != "" {
		ex.missing = append(ex.missing, fmt.Sprintf("%s at node %q: %s", n.Op.Name, n.Name,
			c.failed))
		for i, v := range c.outs { // other nodes find their own faults
			ex.values[n.Entry(i)] = v
		}
		return nil
	}
	for i, v := range outs {
		want := c.outs[i]
		if !v.shape.Equal(want.shape) || v.typ != want.typ {
			return fmt.Errorf("%s at node %q: output %d is exported with shape %v and type %v, "+
				"want %v and %v", n.Op.Name, n.Name, i, v.shape, v.typ, want.shape, want.typ)
		}
		ex.values[n.Entry(i)] = v
	}
	return nil
}

// known checks that the shapes of the inputs of a node are known, but for inputs that it does not
// read.
func (ex *exporting) known(n *op.Node) error {
	for i, e := range n.In {
		if shape, _ := ex.facts.Of(e); !shape.Known() && !slices.Contains(n.Op.Ignores, i) {
			return fmt.Errorf("%s at node %q: the shape of input %q is not known: give the shapes "+
				"of all inputs of the model", n.Op.Name, n.Name, e.Node.Name)
		}
	}
	return nil
}

// outputs names the outputs as the symbol does.
func (ex *exporting) outputs(s *sym.Symbol) error {
	names := s.Outputs()
	for i, e := range s.Entries() {
		v, ok := ex.values[e]
		if !ok || v.name == "" {
			return &Unsupported{[]string{fmt.Sprintf("%s at node %q: output %d, %q, has no form "+
				"in ONNX", e.Node.Op.Name, e.Node.Name, e.Index, names[i])}}
		}
		name := names[i]
		if slices.Contains(names[:i], name) || e.Node.IsVar() {
			name = ex.unique(name)
		}
		ex.copy(v, name)
	}
	for _, v := range ex.states {
		ex.graph.Output = append(ex.graph.Output, ex.info(v))
	}
	return nil
}

// copy adds an output with the value v: the node that computes v gets the new name, if it has no
// other reader of that kind.
func (ex *exporting) copy(v value, name string) {
	w := value{name, v.shape, v.typ}
	ex.graph.Output = append(ex.graph.Output, ex.info(w))
	isOutput := slices.ContainsFunc(ex.graph.Output, func(o *onnxpb.ValueInfoProto) bool {
		return o.GetName() == v.name
	})
	if !isOutput && ex.rename(v.name, name) {
		return
	}
	ex.graph.Node = append(ex.graph.Node, &onnxpb.NodeProto{Name: proto.String(name + "_copy"),
		OpType: proto.String("Identity"), Input: []string{v.name}, Output: []string{name}})
}

// renamed is v under another name, which the node that computes it gets.
func (ex *exporting) renamed(v value, name string) value {
	ex.rename(v.name, name)
	v.name = name
	return v
}

// rename gives the output of a node another name; false if no node makes it.
func (ex *exporting) rename(old, name string) bool {
	found := false
	for _, n := range ex.graph.Node {
		for i, o := range n.Output {
			if o == old {
				n.Output[i], found = name, true
			}
		}
	}
	if !found {
		return false
	}
	eachInput(ex.graph.Node, func(in *string) {
		if *in == old {
			*in = name
		}
	})
	for e, v := range ex.values {
		if v.name == old {
			v.name = name
			ex.values[e] = v
		}
	}
	return true
}

// dropUnused removes nodes and initializers whose values nothing reads, and returns the names of
// values that something reads.
func (ex *exporting) dropUnused() map[string]bool {
	read := map[string]bool{}
	for _, o := range ex.graph.Output {
		read[o.GetName()] = true
	}
	var kept []*onnxpb.NodeProto
	for _, n := range slices.Backward(ex.graph.Node) {
		if !slices.ContainsFunc(n.Output, func(o string) bool { return read[o] }) {
			continue
		}
		kept = append(kept, n)
		eachInput([]*onnxpb.NodeProto{n}, func(in *string) { read[*in] = true })
	}
	slices.Reverse(kept)
	ex.graph.Node = kept
	ex.graph.Initializer = slices.DeleteFunc(ex.graph.Initializer,
		func(t *onnxpb.TensorProto) bool { return !read[t.GetName()] })
	ex.params = slices.DeleteFunc(ex.params,
		func(p parameter) bool { return !read[p.tensor.GetName()] })
	return read
}

// eachInput calls f for the inputs of nodes, and of the nodes of graphs inside them.
func eachInput(nodes []*onnxpb.NodeProto, f func(in *string)) {
	for _, n := range nodes {
		for i := range n.Input {
			f(&n.Input[i])
		}
		for _, a := range n.Attribute {
			eachInput(a.GetG().GetNode(), f)
		}
	}
}

// unique returns a name that no value has.
func (ex *exporting) unique(name string) string {
	free := name
	for i := 1; ex.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	ex.taken[free] = true
	return free
}

// info describes an input or output.
func (ex *exporting) info(v value) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range v.shape {
		shape.Dim = append(shape.Dim, &onnxpb.TensorShapeProto_Dimension{
			Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}})
	}
	return &onnxpb.ValueInfoProto{Name: proto.String(v.name), Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{
			ElemType: proto.Int32(code(v.typ)), Shape: shape}}}}
}
