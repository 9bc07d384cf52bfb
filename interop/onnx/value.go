package onnx

import (
	"context"
	"fmt"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// value is the value of a name in an ONNX graph. Its shape and element type are always known.
type value struct {
	name   string
	s      *sym.Symbol // one output; its shape is file.Stored(shape)
	shape  dtype.Shape // ONNX's shape: empty for a scalar
	typ    dtype.Type
	fixed  *nd.Array    // the values, if they are known at import
	source string       // first input of the model that the values depend on; empty: none is known
	format *file.Format // format of the elements, which gomx holds in typ; nil: typ itself
	coding *coding      // integers that the numbers were made of; nil: none are known
	real   *sym.Symbol  // numbers that integers were made of; nil: not known
	learns bool         // an initializer with axes: a parameter that training may change
	// A sequence has elements, and neither a symbol nor a shape.
	sequence bool
	list     []*value
}

// rank returns the number of axes.
func (v *value) rank() int { return len(v.shape) }

// size returns the number of elements.
func (v *value) size() int { return v.shape.Size() }

// NotConstant is the error of a node that needs values at import.
type NotConstant struct {
	// Input is an input of the model that could be given with Values: Value itself, or the first
	// input that Value is computed from. Empty: none is known, as inside of a loop.
	Input string
	Value string // name of the value in the graph
}

// Error names the value.
func (e *NotConstant) Error() string {
	switch e.Input {
	case e.Value:
	case "":
		return fmt.Sprintf("the values of %q must be known at import, and they are computed when "+
			"the graph runs", e.Value)
	default:
		return fmt.Sprintf("the values of %q must be known at import, and they are computed from "+
			"inputs: give the input %q with Values", e.Value, e.Input)
	}
	return fmt.Sprintf("the values of %q must be known at import: give the input %q with Values",
		e.Value, e.Input)
}

// floats returns the values of a constant as float64.
func (v *value) floats() ([]float64, error) {
	if v.fixed == nil {
		return nil, &NotConstant{Input: v.source, Value: v.name}
	}
	return nd.Values[float64](nd.Cast(v.fixed, nd.CastParams{DType: dtype.Float64}))
}

// number returns the number of a floating-point constant of one element that is no parameter.
func (v *value) number() (float64, bool) {
	if v.fixed == nil || v.learns || v.size() != 1 || !v.typ.IsFloat() || v.format != nil {
		return 0, false
	}
	list, err := v.floats()
	return list[0], err == nil
}

// ints returns the values of a constant of integers or booleans.
func (v *value) ints() ([]int, error) {
	if v.fixed == nil {
		return nil, &NotConstant{Input: v.source, Value: v.name}
	}
	if v.typ.IsFloat() {
		return nil, fmt.Errorf("%q has element type %v, want integers", v.name, v.typ)
	}
	a := v.fixed
	if v.typ != dtype.Int64 {
		a = nd.Cast(a, nd.CastParams{DType: dtype.Int64})
	}
	list, err := nd.Values[int64](a)
	ints := make([]int, len(list))
	for i, x := range list {
		ints[i] = int(x)
	}
	return ints, err
}

// fact is the shape and the element type of an entry of the graph that is made.
type fact struct {
	shape dtype.Shape
	typ   dtype.Type
}

// facts remembers the shapes and types of entries. Every variable is in it from the start.
type facts map[op.Entry]fact

// of infers the shape and the type of an entry and of everything that it is computed from.
func (f facts) of(e op.Entry) (fact, error) {
	if k, ok := f[e]; ok {
		return k, nil
	}
	for _, n := range f.unknown(e) {
		if err := f.infer(n); err != nil {
			return fact{}, err
		}
	}
	k, ok := f[e]
	if !ok {
		return fact{}, fmt.Errorf("nothing is known about output %d of %s", e.Index, e.Node.Name)
	}
	return k, nil
}

// unknown lists the nodes below e without facts, each after its inputs.
func (f facts) unknown(e op.Entry) []*op.Node {
	var order []*op.Node
	seen := map[*op.Node]bool{}
	var visit func(n *op.Node)
	visit = func(n *op.Node) {
		if _, ok := f[n.Entry(0)]; ok || seen[n] {
			return
		}
		seen[n] = true
		for _, in := range n.In {
			visit(in.Node)
		}
		order = append(order, n)
	}
	visit(e.Node)
	return order
}

// infer infers the outputs of a node whose inputs are known.
func (f facts) infer(n *op.Node) error {
	if n.IsVar() {
		return fmt.Errorf("the variable %s has no known shape", n.Name)
	}
	in, inTypes := make([]dtype.Shape, len(n.In)), make([]dtype.Type, len(n.In))
	for i, e := range n.In {
		in[i], inTypes[i] = f[e].shape.Clone(), f[e].typ
	}
	out, outTypes := make([]dtype.Shape, n.NumOutputs()), make([]dtype.Type, n.NumOutputs())
	for i := range outTypes {
		outTypes[i] = dtype.Unknown
	}
	if err := n.Op.InferShape(n.Params, in, out); err != nil {
		return op.WithOp(err, n.Op.Name, n.Name, "")
	}
	if err := n.Op.InferType(n.Params, inTypes, outTypes); err != nil {
		return op.WithOp(err, n.Op.Name, n.Name, "")
	}
	for i, e := range n.In {
		if want := f[e]; !want.shape.Equal(in[i]) || want.typ != inTypes[i] {
			return fmt.Errorf("%s: input %d has shape %v and type %v, want %v and %v", n.Op.Name, i,
				want.shape, want.typ, in[i], inTypes[i])
		}
	}
	for i := range out {
		if !out[i].Known() || outTypes[i] == dtype.Unknown {
			return fmt.Errorf("%s: the shape of output %d does not follow from its inputs",
				n.Op.Name, i)
		}
		f[n.Entry(i)] = fact{out[i], outTypes[i]}
	}
	return nil
}

// settle waits for the arrays of constants and returns the first error.
func settle(arrays []*nd.Array) error {
	for _, a := range arrays {
		if err := a.Wait(context.Background()); err != nil {
			return err
		}
	}
	return nil
}
