package gorgonia

import (
	"errors"
	"fmt"
	"strings"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FromGraph converts the nodes out of one ExprGraph, and all nodes that they depend on, to a symbol
// with one output per node of out, and copies the values of the inputs.
//
// Inputs become variables of the same names, with their shapes and element types as attributes, so
// that the symbol can be bound without more information; their names must be unique. weights holds
// the inputs that have values: parameters, and data if Let has set it. It also holds constant
// tensors, under names that start with "constant"; they get no gradient.
//
// The error for a node that cannot be converted names the node and its operation. out must be nodes
// of the forward computation, not gradients that Grad has added to the graph.
func FromGraph(out ...*G.Node) (net *sym.Symbol, weights map[string]*nd.Array, err error) {
	defer op.Recover(&err)
	graph, err := viewOf(out)
	if err != nil {
		return nil, nil, err
	}
	c := &converter{graph: graph, values: map[*G.Node]value{}, inputs: map[string]*G.Node{},
		weights: map[string]*nd.Array{}}
	list := make([]*sym.Symbol, len(out))
	for i, n := range out {
		if list[i], err = c.whole(n); err != nil {
			return nil, nil, err
		}
	}
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	if len(list) == 1 {
		return list[0], c.weights, nil
	}
	return sym.Group(list...), c.weights, nil
}

// value is the result of the conversion of a node: a symbol or a number.
type value struct {
	sym    *sym.Symbol // nil for a number
	number float64     // value if sym is nil
	// shape is the shape of sym if every input has its shape in the graph; a scalar has shape (1).
	shape dtype.Shape
	// less means that the node's shape is larger along axes of extent one of shape: elementwise
	// operators, which broadcast by themselves, do the repetition.
	less bool
}

// converter converts the nodes of one graph.
type converter struct {
	graph   view
	values  map[*G.Node]value
	order   []*G.Node            // keys of values in the order of conversion
	inputs  map[string]*G.Node   // by name
	weights map[string]*nd.Array // by name
}

// nodeError is the error for a node that cannot be converted.
type nodeError struct {
	node, op string
	err      error
}

// Error names the node and its operation.
func (e *nodeError) Error() string {
	return fmt.Sprintf("gorgonia: node %q, operation %q: %v", e.node, e.op, e.err)
}

// Unwrap returns the reason.
func (e *nodeError) Unwrap() error { return e.err }

// blame returns err as an error about n, unless it already names a node.
func blame(n *G.Node, err error) error {
	if _, ok := errors.AsType[*nodeError](err); ok || err == nil {
		return err
	}
	text := "input"
	if n.Op() != nil {
		text = n.Op().String()
	}
	return &nodeError{nameOf(n), text, err}
}

// nameOf returns the name of a node, "" for an input without one.
func nameOf(n *G.Node) string {
	if n.Op() == nil && strings.HasPrefix(n.Name(), "%!s") {
		return ""
	}
	return n.Name()
}

// value converts n, once.
func (c *converter) value(n *G.Node) (value, error) {
	if v, ok := c.values[n]; ok {
		return v, nil
	}
	v, err := c.convert(n)
	if err == nil {
		v, err = fit(v, shapeOf(n))
	}
	if err != nil {
		return value{}, blame(n, err)
	}
	c.values[n] = v
	c.order = append(c.order, n)
	return v, nil
}

// whole converts n to a symbol with the node's full shape.
func (c *converter) whole(n *G.Node) (*sym.Symbol, error) {
	v, err := c.value(n)
	if err != nil {
		return nil, err
	}
	want := shapeOf(n)
	if v.sym == nil {
		e, err := elementOf(n.Dtype())
		if err != nil {
			return nil, blame(n, err)
		}
		return sym.Full(sym.FullParams{Shape: want, DType: e.dtype, Value: v.number}), nil
	}
	if v.shape.Equal(want) {
		return v.sym, nil
	}
	s := v.sym
	if len(v.shape) < len(want) {
		s = sym.Reshape(s, sym.ReshapeParams{Shape: aligned(v.shape, len(want))})
	}
	var p sym.BroadcastAxisParams
	for i, extent := range aligned(v.shape, len(want)) {
		if extent != want[i] {
			p.Axis, p.Size = append(p.Axis, i), append(p.Size, want[i])
		}
	}
	if len(p.Axis) > 0 {
		s = sym.BroadcastAxis(s, p)
	}
	c.values[n] = value{sym: s, shape: want}
	return s, nil
}

// fit sets v.less if the node's shape want is larger by broadcasting, and returns an error if the
// shapes do not fit.
func fit(v value, want dtype.Shape) (value, error) {
	if v.less = v.less && spreads(v.shape, want); v.sym == nil || v.less || v.shape.Equal(want) {
		return v, nil
	}
	if v.shape.Size() != want.Size() {
		return v, fmt.Errorf("converts to shape %v, want %v", v.shape, want)
	}
	return value{sym: sym.Reshape(v.sym, sym.ReshapeParams{Shape: want}), shape: want}, nil
}

// spreads reports whether s broadcasts to want and want is larger.
func spreads(s, want dtype.Shape) bool {
	if len(s) > len(want) || s.Size() == want.Size() {
		return false
	}
	for i, extent := range aligned(s, len(want)) {
		if extent != want[i] && extent != 1 {
			return false
		}
	}
	return true
}

// aligned returns s with leading axes of extent one, so that it has dims axes.
func aligned(s dtype.Shape, dims int) dtype.Shape {
	full := make(dtype.Shape, dims)
	for i := range full {
		full[i] = 1
		if j := i - (dims - len(s)); j >= 0 {
			full[i] = s[j]
		}
	}
	return full
}

// shapeOf returns the shape of a node, (1) for a scalar.
func shapeOf(n *G.Node) dtype.Shape {
	if len(n.Shape()) == 0 {
		return dtype.Shape{1}
	}
	return dtype.Shape(n.Shape()).Clone()
}

// input makes the variable of an input, and copies its value to weights.
func (c *converter) input(n *G.Node, name string, opts ...sym.Option) (value, error) {
	if name == "" {
		return value{}, errors.New("has no name, want one: make the input with WithName")
	}
	if other, taken := c.inputs[name]; taken {
		return value{}, fmt.Errorf("another input, of shape %v, has the same name", other.Shape())
	}
	c.inputs[name] = n
	e, err := elementOf(n.Dtype())
	if err != nil {
		return value{}, err
	}
	shape := shapeOf(n)
	opts = append(opts, sym.Shape(shape...), sym.DType(e.dtype))
	if v := n.Value(); v != nil {
		if c.weights[name], err = fromValue(v, shape); err != nil {
			return value{}, err
		}
	}
	return value{sym: sym.Var(name, opts...), shape: shape}, nil
}

// fromValue copies the value of a node.
func fromValue(v G.Value, shape dtype.Shape) (*nd.Array, error) {
	if d, ok := v.(*tensor.Dense); ok {
		a, err := FromDense(d)
		if err != nil || a.Shape().Equal(shape) {
			return a, err
		}
		if a.Size() != shape.Size() {
			return nil, fmt.Errorf("its value has shape %v, the node %v", a.Shape(), shape)
		}
		return a.Reshape(shape...), nil
	}
	e, err := elementOf(v.Dtype())
	if err != nil {
		return nil, err
	}
	return e.copy(v.Data(), shape), nil
}

// check infers the shapes of all converted nodes. A shape that differs from the graph's shows that
// an operation of Gorgonia has another meaning than this package assumes.
func (c *converter) check() error {
	var nodes []*G.Node
	var list []*sym.Symbol
	for _, n := range c.order {
		if v := c.values[n]; v.sym != nil {
			nodes, list = append(nodes, n), append(list, v.sym)
		}
	}
	if len(list) == 0 {
		return nil
	}
	_, outs, _, err := sym.Group(list...).InferShapePartial(nil)
	if err != nil {
		return fmt.Errorf("gorgonia: the converted graph: %w", err)
	}
	for i, n := range nodes {
		if want := c.values[n].shape; !outs[i].Equal(want) {
			return blame(n, fmt.Errorf("converted to shape %v, want %v", outs[i], want))
		}
	}
	return nil
}
