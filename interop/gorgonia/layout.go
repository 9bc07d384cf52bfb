package gorgonia

import (
	"errors"
	"fmt"
	"strings"

	"gomx/dtype"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
)

// reshape converts a reshape. If axis 0 counts samples before and after it, the symbol can be bound
// to another number of samples.
func (c *converter) reshape(n *G.Node) (value, error) {
	in, err := c.operandsOf(n, 1)
	if err != nil {
		return value{}, err
	}
	from, to := shapeOf(in[0]), shapeOf(n)
	x, err := c.whole(in[0])
	if err != nil {
		return value{}, err
	}
	switch {
	case from.Equal(to):
		return value{sym: x, shape: to}, nil
	case len(from) > 2 && len(to) == 2 && from[0] == to[0]:
		return value{sym: sym.Flatten(x), shape: to}, nil
	}
	shape := to.Clone()
	if from[0] == to[0] {
		shape[0] = 0
	}
	return value{sym: sym.Reshape(x, sym.ReshapeParams{Shape: shape}), shape: to}, nil
}

// transpose converts a permutation of axes, unless it ends a convolution.
func (c *converter) transpose(n *G.Node, o operation) (value, error) {
	if v, ok := c.graph.convolutionAt(n); ok {
		return c.convolve(n, v)
	}
	if len(o.ints) != len(n.Shape()) {
		return value{}, fmt.Errorf("permutes %d axes of %d", len(o.ints), len(n.Shape()))
	}
	v, err := c.one(n, func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
		return sym.Transpose(x, sym.TransposeParams{Axes: o.ints}, opts...)
	})
	v.shape = shapeOf(n)
	return v, err
}

// repeat converts a repetition along an axis. If the axis has extent one, the operators that use
// the value broadcast it: this is how Gorgonia adds a bias.
func (c *converter) repeat(n *G.Node, o operation) (value, error) {
	in, err := c.operandsOf(n, 2)
	if err != nil {
		return value{}, err
	}
	axis, want := 0, shapeOf(n)
	if len(o.ints) == 1 {
		axis = o.ints[0]
	}
	if len(o.ints) != 1 || axis >= len(want) {
		return value{}, fmt.Errorf("has a text without an axis of shape %v", want)
	}
	v, err := c.value(in[0])
	if err != nil {
		return value{}, err
	}
	if v.sym == nil {
		return v, nil
	}
	from := shapeOf(in[0])
	for len(from) < len(want) { // Gorgonia may repeat a vector along an axis that it does not have
		from = append(from, 1)
	}
	if from[axis] == 1 {
		shape := v.shape.Clone()
		for len(shape) < len(from) {
			shape = append(shape, 1)
		}
		if len(shape) != len(v.shape) {
			v.sym = sym.Reshape(v.sym, sym.ReshapeParams{Shape: shape})
		}
		return value{sym: v.sym, shape: shape, less: true}, nil
	}
	x, err := c.whole(in[0])
	p := sym.RepeatParams{Repeats: want[axis] / from[axis], Axis: sym.Some(axis)}
	return value{sym: sym.Repeat(x, p), shape: want}, err
}

// slice converts a range of one axis; the result does not have the axis if the range is one index.
func (c *converter) slice(n *G.Node, o operation) (value, error) {
	x, shape, err := c.only(n)
	if err != nil {
		return value{}, err
	}
	if len(o.ints) == 0 {
		return value{sym: x, shape: shape}, nil
	}
	axis := strings.Count(o.text, ":, ")
	if len(o.ints) != 3 || axis >= len(shape) {
		return value{}, fmt.Errorf("has a text without a range of an axis of shape %v", shape)
	}
	begin, end, step := o.ints[0], o.ints[1], o.ints[2]
	if step > 1 {
		return value{}, fmt.Errorf("takes every %dth element, want all", step)
	}
	shape[axis] = end - begin
	return value{sym: sym.SliceAxis(x, sym.SliceAxisParams{Axis: axis, Begin: begin,
		End: sym.Some(end)}), shape: shape}, nil
}

// concat converts the concatenation of arrays along an axis.
func (c *converter) concat(n *G.Node, o operation) (value, error) {
	if len(o.ints) != 1 {
		return value{}, errors.New("does not tell the axis")
	}
	var list []*sym.Symbol
	for _, in := range c.graph.operands(n) {
		x, err := c.whole(in)
		if err != nil {
			return value{}, err
		}
		list = append(list, x)
	}
	return value{sym: sym.Concat(list, sym.ConcatParams{Dim: sym.Some(o.ints[0])}),
		shape: dtype.Shape(n.Shape()).Clone()}, nil
}
