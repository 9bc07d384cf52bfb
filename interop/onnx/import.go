package onnx

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

const (
	// foldLimit is the number of bytes that results of computations at import may have in all, in
	// addition to foldPerByte bytes for each byte of the file.
	foldLimit   = 32 << 20
	foldPerByte = 2
	// mostNodes is the greatest number of nodes that are imported, counted in each step of a loop
	// that is imported step by step, and in each call of a function.
	mostNodes = 1 << 20
	// mostCalls is the greatest depth of calls of functions.
	mostCalls = 32
)

// importing is the state of one import.
type importing struct {
	config   config
	file     *File
	versions map[string]int // operator sets by domain
	root     *os.Root       // folder of external data; nil: none
	facts    facts
	fixed    map[*op.Node]*nd.Array // constants by their variables
	names    map[string]bool        // names of variables in use
	budget   int                    // bytes that folding may still make
	nodes    int                    // nodes that have been imported, those of each step of loops
	depth    int                    // calls of functions under way
	inputOf  map[*op.Node]*value    // inputs of the model by their variables
	switches []string               // see Model.Switches
	local    map[string]*onnxpb.FunctionProto
}

// scope has the values of names in a graph and in the graphs around it.
type scope struct {
	outer  *scope
	values map[string]*value
	// The attributes of the call of a function whose nodes these are, and its inputs that the call
	// leaves out.
	attrs  map[string]*onnxpb.AttributeProto
	absent map[string]bool
}

func newScope(outer *scope) *scope { return &scope{outer: outer, values: map[string]*value{}} }

func (s *scope) find(name string) *value {
	for ; s != nil; s = s.outer {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

func newImport(f *File, root *os.Root, opts []Option) *importing {
	im := &importing{file: f, versions: f.versions, local: f.local, root: root, facts: facts{},
		fixed: map[*op.Node]*nd.Array{}, names: map[string]bool{}, inputOf: map[*op.Node]*value{},
		budget: foldLimit + foldPerByte*f.size}
	im.config = config{map[string]dtype.Shape{}, map[string]int{}, map[string]*nd.Array{}}
	for _, o := range opts {
		o(&im.config)
	}
	return im
}

// model imports the outermost graph.
func (im *importing) model(g *onnxpb.GraphProto) (m *Model, err error) {
	if err := im.checkOperators(g); err != nil {
		return nil, err
	}
	defer op.Recover(&err)
	m = &Model{}
	top := newScope(nil)
	if err := im.initializers(g, top); err != nil {
		return nil, err
	}
	if m.Inputs, err = im.inputs(g, top); err != nil {
		return nil, err
	}
	if err := im.run(g.GetNode(), top); err != nil {
		return nil, err
	}
	var outs []*sym.Symbol
	for _, o := range g.GetOutput() {
		v := top.find(o.GetName())
		if v == nil {
			return nil, fmt.Errorf("output %q: no node computes it", o.GetName())
		}
		if v.sequence {
			return nil, fmt.Errorf("output %q is a sequence, want a tensor", o.GetName())
		}
		outs = append(outs, im.output(v))
		info := Info{Name: o.GetName(), Shape: v.shape, Type: v.typ}
		if v.format != nil {
			info.Format = v.format.Name
		}
		m.Outputs = append(m.Outputs, info)
	}
	if len(outs) == 0 {
		return nil, fmt.Errorf("the graph has no outputs, want at least one")
	}
	m.Switches = im.switches
	return m, im.finish(m, sym.Group(outs...))
}

// output returns the symbol of an output. Outputs of graphs are nodes, not variables.
func (im *importing) output(v *value) *sym.Symbol {
	if v.s.Entries()[0].Node.IsVar() {
		return sym.Identity(v.s)
	}
	return v.s
}

// finish collects the constants that the graph reads.
func (im *importing) finish(m *Model, s *sym.Symbol) error {
	if err := s.Err(); err != nil {
		return err
	}
	m.Model = checkpoint.Model{Symbol: s, Args: map[string]*nd.Array{},
		Aux: map[string]*nd.Array{}}
	aux := s.AuxStates()
	for _, n := range s.Nodes() {
		a := im.fixed[n]
		switch {
		case a == nil:
		case slices.Contains(aux, n.Name):
			m.Aux[n.Name] = a
		default:
			m.Args[n.Name] = a
		}
	}
	return nil
}

// checkOperators reports the operators that the table lacks, all at once.
func (im *importing) checkOperators(g *onnxpb.GraphProto) error {
	missing, first := map[string]int{}, map[string]string{}
	var names []string
	var walk func(nodes []*onnxpb.NodeProto)
	seen := map[*onnxpb.FunctionProto]bool{}
	walk = func(nodes []*onnxpb.NodeProto) {
		for _, n := range nodes {
			domain := mainDomain(n.GetDomain())
			key := qualified(domain, n.GetOpType())
			if f := im.function(n); f != nil {
				if !seen[f] {
					seen[f] = true
					walk(f.GetNode())
				}
			} else if _, ok := table[key]; !ok {
				key = fmt.Sprintf("%s (opset %d)", key, im.versions[domain])
				if missing[key]++; missing[key] == 1 {
					names, first[key] = append(names, key), nodeName(n)
				}
			}
			for _, a := range n.GetAttribute() {
				for _, inner := range file.Graphs(a) {
					walk(inner.GetNode())
				}
			}
		}
	}
	walk(g.GetNode())
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	for i, key := range names {
		names[i] = fmt.Sprintf("%s at node %s", key, first[key])
		if missing[key] > 1 {
			names[i] += fmt.Sprintf(" and %d more", missing[key]-1)
		}
	}
	return &Missing{names}
}

// Missing is the error of a model that uses operators which are not imported.
type Missing struct {
	Operators []string // each with its opset and the first node that uses it
}

// Error lists the operators.
func (e *Missing) Error() string {
	return "operators that gomx does not import: " + strings.Join(e.Operators, ", ")
}

// qualified is the key of an operator in the table: domain:name outside of the main domain.
func qualified(domain, name string) string {
	if domain == "" {
		return name
	}
	return domain + ":" + name
}

// nodeName names a node in errors: by its name, or by its first output.
func nodeName(n *onnxpb.NodeProto) string {
	if n.GetName() != "" {
		return fmt.Sprintf("%q", n.GetName())
	}
	if len(n.GetOutput()) > 0 {
		return fmt.Sprintf("with output %q", n.GetOutput()[0])
	}
	return "without a name"
}

// initializers makes constants of the initializers of a graph.
func (im *importing) initializers(g *onnxpb.GraphProto, sc *scope) error {
	if len(g.GetSparseInitializer()) > 0 {
		return fmt.Errorf("graph %q has sparse initializers, want dense ones", g.GetName())
	}
	for _, t := range g.GetInitializer() {
		a, shape, err := im.file.array(t, im.root)
		if err != nil {
			return err
		}
		v := im.constant(t.GetName(), a, shape)
		v.format = file.FormatOf(t.GetDataType())
		v.learns = len(shape) > 0
		sc.values[t.GetName()] = v
	}
	return nil
}

// inputs makes variables of the inputs of the model that have no value yet.
func (im *importing) inputs(g *onnxpb.GraphProto, sc *scope) ([]Info, error) {
	var list []Info
	known := map[string]bool{}
	var open []string
	for _, in := range g.GetInput() {
		known[in.GetName()] = true
		if sc.values[in.GetName()] != nil {
			continue
		}
		info, missing, err := im.input(in)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.GetName(), err)
		}
		if missing != "" {
			open = append(open, missing)
			continue
		}
		if a := im.config.values[info.Name]; a != nil {
			if !a.Shape().Equal(file.Stored(info.Shape)) || a.DType() != info.Type {
				return nil, fmt.Errorf("input %q: the value has shape %v and type %v, want %v and "+
					"%v", info.Name, a.Shape(), a.DType(), file.Stored(info.Shape), info.Type)
			}
			v := im.constant(info.Name, a, info.Shape)
			v.format = formatOf(in)
			sc.values[info.Name] = v
			continue
		}
		v := im.variable(info.Name, info.Shape, info.Type)
		v.source, v.format = info.Name, formatOf(in)
		im.inputOf[v.s.Entries()[0].Node] = v
		sc.values[info.Name] = v
		list = append(list, info)
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("inputs of open shape: %s: give their extents with Shapes or Dims",
			strings.Join(open, ", "))
	}
	return list, im.config.check(known)
}

// check reports names in options that are not inputs.
func (c *config) check(known map[string]bool) error {
	for name := range c.shapes {
		if !known[name] {
			return fmt.Errorf("Shapes with %q, which is not an input of the model", name)
		}
	}
	for name := range c.values {
		if !known[name] {
			return fmt.Errorf("Values with %q, which is not an input of the model", name)
		}
	}
	return nil
}

// input finds the shape and the type of an input; open describes it if its shape is not known.
func (im *importing) input(in *onnxpb.ValueInfoProto) (info Info, open string, err error) {
	t := in.GetType().GetTensorType()
	if t == nil {
		return info, "", errors.New("not a tensor: sequences, maps and optional values are not " +
			"imported")
	}
	info.Name = in.GetName()
	if info.Type, err = file.ElementType(t.GetElemType()); err != nil {
		return info, "", err
	}
	if f := formatOf(in); f != nil {
		info.Format = f.Name
	}
	given := im.config.shapes[info.Name]
	if a := im.config.values[info.Name]; a != nil && t.GetShape() == nil {
		given = a.Shape()
	}
	if t.GetShape() == nil {
		if given == nil {
			return info, info.Name, nil
		}
		info.Shape = given.Clone()
		return info, "", nil
	}
	dims := t.GetShape().GetDim()
	if given != nil && len(given) != len(dims) {
		return info, "", fmt.Errorf("the shape %v is given, want %d axes", given, len(dims))
	}
	var wanted []string
	sizes := make([]int64, len(dims))
	for i, d := range dims {
		n := -1
		if d.GetDimParam() == "" && d.Value != nil {
			n = int(d.GetDimValue())
		}
		if g, ok := im.config.dims[d.GetDimParam()]; ok && d.GetDimParam() != "" {
			n = g
		}
		if given != nil {
			if n >= 0 && n != given[i] {
				return info, "", fmt.Errorf("the shape %v is given, want the extent %d of axis %d",
					given, n, i)
			}
			n = given[i]
		}
		if a := im.config.values[info.Name]; n < 0 && a != nil && len(a.Shape()) == len(dims) {
			n = a.Shape()[i]
		}
		sizes[i] = int64(n)
		wanted = append(wanted, dimText(d, n))
		if n < 0 {
			open = info.Name
		}
	}
	if open != "" {
		return info, fmt.Sprintf("%s (%s)", open, strings.Join(wanted, ", ")), nil
	}
	info.Shape, _, err = file.Shape(sizes)
	return info, "", err
}

// formatOf returns the format of the elements of an input; nil: gomx has their type.
func formatOf(in *onnxpb.ValueInfoProto) *file.Format {
	return file.FormatOf(in.GetType().GetTensorType().GetElemType())
}

// dimText spells an extent for errors.
func dimText(d *onnxpb.TensorShapeProto_Dimension, n int) string {
	switch {
	case n >= 0:
		return fmt.Sprint(n)
	case d.GetDimParam() != "":
		return d.GetDimParam()
	}
	return "?"
}

// unique returns a name that no variable has.
func (im *importing) unique(name string) string {
	if name == "" {
		name = "value"
	}
	free := name
	for i := 1; im.names[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	im.names[free] = true
	return free
}

// variable makes a value of a new variable.
func (im *importing) variable(name string, shape dtype.Shape, typ dtype.Type) *value {
	s := sym.Var(im.unique(name), sym.Shape(file.Stored(shape)...), sym.DType(typ))
	im.facts[s.Entries()[0]] = fact{file.Stored(shape), typ}
	return &value{name: name, s: s, shape: shape, typ: typ}
}

// constant makes a value of an array.
func (im *importing) constant(name string, a *nd.Array, shape dtype.Shape) *value {
	v := im.variable(name, shape, a.DType())
	v.fixed = a
	im.fixed[v.s.Entries()[0].Node] = a
	return v
}

// run imports the nodes of a graph in their order, which ONNX demands to be topological.
func (im *importing) run(nodes []*onnxpb.NodeProto, sc *scope) error {
	for _, n := range nodes {
		if err := im.node(n, sc); err != nil {
			domain := mainDomain(n.GetDomain())
			return fmt.Errorf("%s at node %s (opset %d): %w", qualified(domain, n.GetOpType()),
				nodeName(n), im.versions[domain], err)
		}
	}
	return nil
}

// node imports one node.
func (im *importing) node(n *onnxpb.NodeProto, sc *scope) error {
	if im.nodes++; im.nodes > mostNodes {
		return fmt.Errorf("more than %d nodes, counted in each step of loops and each call of "+
			"functions", mostNodes)
	}
	domain := mainDomain(n.GetDomain())
	row := table[qualified(domain, n.GetOpType())]
	c := &call{im: im, node: n, scope: sc, version: im.versions[domain]}
	for _, name := range n.GetInput() {
		var v *value
		if name != "" {
			if v = sc.find(name); v == nil && !sc.leftOut(name) {
				return fmt.Errorf("input %q has no value before the node", name)
			}
		}
		c.in = append(c.in, v)
	}
	if f := im.function(n); f != nil {
		return c.call(f)
	}
	if domain == "" && c.version < fullOpset && !slices.Contains(early, n.GetOpType()) {
		return fmt.Errorf("operator set %d has another form of the operator, want %d or later",
			c.version, fullOpset)
	}
	for i := range row.inputs {
		if i >= len(c.in) || c.in[i] == nil {
			return fmt.Errorf("%d inputs, want at least %d", len(c.in), row.inputs)
		}
	}
	for i, v := range c.in {
		switch {
		case v == nil || !v.sequence || takesSequences(n.GetOpType()):
		case n.GetOpType() == "Identity":
			c.direct = c.in[:1]
			return c.finish(nil)
		default:
			return fmt.Errorf("input %d is a sequence, want a tensor", i)
		}
	}
	c.attrs()
	outs := row.make(c)
	if c.err != nil {
		return c.err
	}
	return c.finish(outs)
}

// fold computes the outputs of a node whose inputs are all constants. It returns nil if they are
// not, or if the results would be too large.
func (im *importing) fold(outs []*sym.Symbol) ([]*nd.Array, error) {
	s := sym.Group(outs...)
	if s.Err() != nil {
		return nil, s.Err()
	}
	values := map[string]*nd.Array{}
	bytes := 0
	for _, n := range s.Nodes() {
		if n.Draws() {
			return nil, nil
		}
		if n.IsVar() {
			if values[n.Name] = im.fixed[n]; values[n.Name] == nil {
				return nil, nil
			}
			continue
		}
		for i := range n.NumOutputs() {
			k := im.facts[n.Entry(i)]
			bytes += k.shape.Size() * k.typ.Size()
			if bytes > im.budget {
				return nil, nil
			}
		}
	}
	im.budget -= bytes
	arrays, err := s.Eval(device.CPU(), values)
	if err != nil {
		return nil, err
	}
	return arrays, settle(arrays)
}
