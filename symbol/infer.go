package symbol

import (
	"gomx/compile"
	"gomx/dtype"
	"gomx/op"
)

// infer finds shapes and types from the shapes and types of variables by name.
func (s *Symbol) infer(shapes map[string]dtype.Shape,
	types map[string]dtype.Type) (*compile.Inferred, error) {
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	return compile.Infer(s.outputs, compile.Given{Shapes: shapes, Types: types})
}

// shapesOf returns the shapes of variables.
func shapesOf(r *compile.Inferred, vars []*op.Node) []dtype.Shape {
	list := make([]dtype.Shape, len(vars))
	for i, v := range vars {
		list[i], _ = r.Of(v.Entry(0))
	}
	return list
}

// typesOf returns the element types of variables.
func typesOf(r *compile.Inferred, vars []*op.Node) []dtype.Type {
	list := make([]dtype.Type, len(vars))
	for i, v := range vars {
		_, list[i] = r.Of(v.Entry(0))
	}
	return list
}

// InferShape returns the shapes of arguments, outputs and auxiliary states, in the order of
// Arguments, Outputs and AuxStates, from the shapes of some variables. It is an error when one
// stays unknown.
func (s *Symbol) InferShape(shapes map[string]dtype.Shape) (args, outs, aux []dtype.Shape,
	err error) {
	r, err := s.infer(shapes, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	for _, list := range [][]*op.Node{vars, auxVars} {
		if err := r.CheckKnown(list); err != nil {
			return nil, nil, nil, err
		}
	}
	args, outs, aux = s.shapesIn(r)
	return args, outs, aux, nil
}

// shapesIn returns the shapes of arguments, outputs and auxiliary states.
func (s *Symbol) shapesIn(r *compile.Inferred) (args, outs, aux []dtype.Shape) {
	vars, auxVars := s.variables()
	for _, e := range r.Graph.Outputs {
		outs = append(outs, r.Shapes[e])
	}
	return shapesOf(r, vars), outs, shapesOf(r, auxVars)
}

// InferShapePartial is like InferShape, but shapes that cannot be inferred stay unknown.
func (s *Symbol) InferShapePartial(shapes map[string]dtype.Shape) (args, outs, aux []dtype.Shape,
	err error) {
	r, err := s.infer(shapes, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	args, outs, aux = s.shapesIn(r)
	return args, outs, aux, nil
}

// InferType returns the element types of arguments, outputs and auxiliary states from the types of
// some variables. A type that nothing determines is float32.
func (s *Symbol) InferType(types map[string]dtype.Type) (args, outs, aux []dtype.Type, err error) {
	r, err := s.infer(nil, types)
	if err != nil {
		return nil, nil, nil, err
	}
	vars, auxVars := s.variables()
	for _, e := range r.Graph.Outputs {
		outs = append(outs, r.Types[e])
	}
	return typesOf(r, vars), outs, typesOf(r, auxVars), nil
}
