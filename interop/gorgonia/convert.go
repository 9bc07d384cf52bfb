package gorgonia

import (
	"errors"
	"fmt"

	"gomx/dtype"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
)

// convert returns the value of a node, made from the values of its operands.
func (c *converter) convert(n *G.Node) (value, error) {
	o := operationOf(n)
	if o.text == "" {
		return c.input(n, nameOf(n))
	}
	if isConstant(n) {
		return c.constant(n)
	}
	if f, ok := unary[o.text]; ok {
		return c.one(n, f)
	}
	if b, ok := binaries[o.name]; ok {
		return c.binary(n, o, b)
	}
	if l, ok := products[o.text]; ok {
		return c.product(n, l)
	}
	switch o.name {
	case "im2col":
		return c.patches(n, o)
	case "MaxPool":
		return c.maxPool(n, o)
	case "GlobalAveragePool":
		return c.globalPool(n)
	case "Softmax":
		return c.softmax(n, o)
	case "Dropout":
		return c.dropout(n)
	case "Σ":
		return c.reduce(n, o, sym.Sum)
	case "MaxAlong":
		return c.reduce(n, o, sym.Max)
	case "Reshape":
		return c.reshape(n)
	case "Aᵀ":
		return c.transpose(n, o)
	case "Repeat":
		return c.repeat(n, o)
	case "SizeOf":
		return c.size(n, o)
	case "T":
		return c.slice(n, o)
	case "Concat":
		return c.concat(n, o)
	case "AvgPool":
		return value{}, errors.New("has no counterpart: Gorgonia divides the sum over a window " +
			"by the width of the image")
	}
	return value{}, errors.New("cannot be converted; the documentation of the package lists the " +
		"operations that can")
}

// operandsOf returns the operands of n, or an error unless there are count.
func (c *converter) operandsOf(n *G.Node, count int) ([]*G.Node, error) {
	list := c.graph.operands(n)
	if len(list) != count {
		return nil, fmt.Errorf("has %d operands, want %d", len(list), count)
	}
	return list, nil
}

// only returns the one operand of a node and its shape.
func (c *converter) only(n *G.Node) (*sym.Symbol, dtype.Shape, error) {
	in, err := c.operandsOf(n, 1)
	if err != nil {
		return nil, nil, err
	}
	x, err := c.whole(in[0])
	return x, shapeOf(in[0]), err
}

// one converts a node each of whose elements depends on one element of its operand.
func (c *converter) one(n *G.Node, f func(data *sym.Symbol, opts ...sym.Option) *sym.Symbol) (value,
	error) {
	x, from, err := c.only(n)
	if err != nil {
		return value{}, err
	}
	return value{sym: f(x), shape: from}, nil
}

// constant converts a constant: a number, or a tensor, which becomes a variable without a gradient.
func (c *converter) constant(n *G.Node) (value, error) {
	v := n.Value()
	if v == nil {
		return value{}, errors.New("has no value")
	}
	if shape := shapeOf(n); len(n.Shape()) > 0 {
		in, err := c.input(n, constantName(n), sym.LRMult(0), sym.WDMult(0))
		if err != nil {
			return value{}, err
		}
		return value{sym: sym.BlockGrad(in.sym), shape: shape}, nil
	}
	a, err := fromValue(v, dtype.Shape{1})
	if err != nil {
		return value{}, err
	}
	number, err := a.Item()
	return value{number: number, shape: dtype.Shape{1}}, err
}

// constantName returns the name of the variable for a constant tensor. The tensor's own name is its
// text.
func constantName(n *G.Node) string { return fmt.Sprintf("constant%d", n.ID()) }

// size converts the extent of an axis to a number, because the graph's shapes are fixed.
func (c *converter) size(n *G.Node, o operation) (value, error) {
	if len(o.ints) != 1 {
		return value{}, errors.New("has a text without the number of the axis")
	}
	size := o.ints[0]
	if o.text != fmt.Sprintf("SizeOf=%d", size) {
		in, err := c.operandsOf(n, 1)
		if err != nil {
			return value{}, err
		}
		if size >= len(in[0].Shape()) {
			return value{}, fmt.Errorf("asks for axis %d of shape %v", size, in[0].Shape())
		}
		size = in[0].Shape()[size]
	}
	return value{number: float64(size), shape: dtype.Shape{1}}, nil
}

// reduce converts a reduction over axes, which the result does not have.
func (c *converter) reduce(n *G.Node, o operation, f func(data *sym.Symbol, p sym.ReduceParams,
	opts ...sym.Option) *sym.Symbol) (value, error) {
	x, _, err := c.only(n)
	if err != nil {
		return value{}, err
	}
	return value{sym: f(x, sym.ReduceParams{Axis: o.ints}), shape: shapeOf(n)}, nil
}

// softmax converts softmax and its logarithm. Without an axis Gorgonia uses the last axis, but for
// a column the first.
func (c *converter) softmax(n *G.Node, o operation) (value, error) {
	if len(o.ints) != 1 {
		return value{}, errors.New("has a text without an axis")
	}
	axis := o.ints[0]
	if axis == -1 && n.Shape().IsColVec() {
		axis = 0
	}
	p := sym.SoftmaxParams{Axis: sym.Some(axis)}
	return c.one(n, func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
		if o.flag {
			return sym.LogSoftmax(x, p, opts...)
		}
		return sym.Softmax(x, p, opts...)
	})
}
