package symbol

import (
	"fmt"
	"strings"

	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// inferred is what inference learned of an indexed graph.
type inferred struct {
	g      *graph.Indexed
	shapes []dtype.Shape
	types  []dtype.Type
}

// desc describes entry i as a plain operand.
func (r *inferred) desc(i int) op.Desc { return op.Plain(r.types[i], r.shapes[i]) }

// infer runs shape and type inference from the shapes and types of variables by name.
func (s *Symbol) infer(shapes map[string]dtype.Shape, types map[string]dtype.Type) (*inferred, error) {
	r, err := s.given(shapes, types)
	if err != nil {
		return nil, err
	}
	if err := graph.InferShapes(r.g, r.shapes); err != nil {
		return nil, err
	}
	return r, r.inferTypes()
}

// given indexes the graph and stores what is given about its variables.
func (s *Symbol) given(shapes map[string]dtype.Shape, types map[string]dtype.Type) (*inferred, error) {
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	g := graph.Index(s.outputs)
	r := &inferred{g: g, shapes: make([]dtype.Shape, g.NumEntries()), types: make([]dtype.Type, g.NumEntries())}
	for i := range r.types {
		r.types[i] = dtype.Unknown
	}
	return r, r.seed(shapes, types)
}

// seed stores what is given about the variables, by the caller or by their attributes.
func (r *inferred) seed(shapes map[string]dtype.Shape, types map[string]dtype.Type) error {
	known := map[string]bool{}
	for i, n := range r.g.Nodes {
		if !n.IsVar() {
			continue
		}
		known[n.Name] = true
		e, _ := r.g.Out(i)
		if err := seedFromAttrs(n, &r.shapes[e], &r.types[e]); err != nil {
			return err
		}
		if s, ok := shapes[n.Name]; ok {
			r.shapes[e] = s.Clone()
		}
		if t, ok := types[n.Name]; ok {
			r.types[e] = t
		}
	}
	for _, name := range sortedKeys(shapes) {
		if !known[name] {
			return fmt.Errorf("symbol: shape given for %q, which is not a variable of the graph: it has %s",
				name, strings.Join(sortedKeys(known), ", "))
		}
	}
	return nil
}

// seedFromAttrs reads __shape__ and __dtype__; in files an extent of 0 is unknown.
func seedFromAttrs(n *op.Node, shape *dtype.Shape, typ *dtype.Type) error {
	if text := n.Attrs["__shape__"]; text != "" {
		dims, err := op.ParseTuple(text)
		if err != nil {
			return &op.Error{Op: "Var", Node: n.Name, Arg: "__shape__", Msg: err.Error()}
		}
		if len(dims) > 0 {
			s := dtype.Shape(dims)
			for i, d := range s {
				if d <= 0 {
					s[i] = -1
				}
			}
			*shape = s
		}
	}
	if t, ok := storageCodes[n.Attrs["__storage_type__"]]; ok && t != StorageDefault {
		op.Notice("storage type %s of variables has no effect: all arrays are dense", t)
	}
	if text := n.Attrs["__dtype__"]; text != "" && text != "-1" {
		t, err := op.ParseType(text)
		if err != nil {
			return &op.Error{Op: "Var", Node: n.Name, Arg: "__dtype__", Msg: err.Error()}
		}
		*typ = t
	}
	return nil
}

// inferTypes runs type inference; variables about which nothing is known become float32, one at
// a time so that each choice informs the rest.
func (r *inferred) inferTypes() error {
	if err := graph.InferTypes(r.g, r.types); err != nil {
		return err
	}
	for i, n := range r.g.Nodes {
		e, _ := r.g.Out(i)
		if !n.IsVar() || r.types[e] != dtype.Unknown {
			continue
		}
		r.types[e] = dtype.Float32
		if err := graph.InferTypes(r.g, r.types); err != nil {
			return err
		}
	}
	return nil
}

// shapesOf returns the shapes of variables.
func (r *inferred) shapesOf(vars []*op.Node) []dtype.Shape {
	list := make([]dtype.Shape, len(vars))
	for i, v := range vars {
		list[i] = r.shapes[r.g.Entry(v.Entry(0))]
	}
	return list
}

// InferShape returns the shapes of arguments, outputs and auxiliary states, in the order of
// Arguments, Outputs and AuxStates, from the shapes of some variables. It is an error when one
// stays unknown.
func (s *Symbol) InferShape(shapes map[string]dtype.Shape) (args, outs, aux []dtype.Shape, err error) {
	args, outs, aux, err = s.InferShapePartial(shapes)
	if err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	if err := allKnown(vars, args); err != nil {
		return nil, nil, nil, err
	}
	if err := allKnown(auxVars, aux); err != nil {
		return nil, nil, nil, err
	}
	return args, outs, aux, nil
}

// allKnown names the variables whose shapes are missing.
func allKnown(vars []*op.Node, shapes []dtype.Shape) error {
	var missing []string
	for i, s := range shapes {
		if !s.Known() {
			missing = append(missing, fmt.Sprintf("%s %v", vars[i].Name, s))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("symbol: not enough is known to infer the shapes of %s: give the shapes of the data and of the label",
		strings.Join(missing, ", "))
}

// InferShapePartial is InferShape that leaves unknown what cannot be inferred.
func (s *Symbol) InferShapePartial(shapes map[string]dtype.Shape) (args, outs, aux []dtype.Shape, err error) {
	r, err := s.infer(shapes, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	for _, e := range r.g.Outputs {
		outs = append(outs, r.shapes[e])
	}
	return r.shapesOf(vars), outs, r.shapesOf(auxVars), nil
}

// InferType returns the element types of arguments, outputs and auxiliary states from those of
// some variables; where nothing says otherwise they are float32.
func (s *Symbol) InferType(types map[string]dtype.Type) (args, outs, aux []dtype.Type, err error) {
	r, err := s.infer(nil, types)
	if err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	for _, v := range vars {
		args = append(args, r.types[r.g.Entry(v.Entry(0))])
	}
	for _, v := range auxVars {
		aux = append(aux, r.types[r.g.Entry(v.Entry(0))])
	}
	for _, e := range r.g.Outputs {
		outs = append(outs, r.types[e])
	}
	return args, outs, aux, nil
}
