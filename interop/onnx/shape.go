package onnx

import (
	"slices"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// shapeRows are operators that change shapes and leave the order of elements.
var shapeRows = map[string]row{
	"Reshape": {1, reshape}, "Flatten": {1, flatten}, "Squeeze": {1, squeeze},
	"Unsqueeze": {1, unsqueeze}, "Shape": {1, shapeNode}, "Size": {1, sizeNode},
	"Expand": {2, func(c *call) []*sym.Symbol {
		c.scalar = true
		want := dtype.Shape(c.ints(1))
		if c.err != nil || !c.possible(want) {
			return nil
		}
		shape := c.common(c.in[0].shape, want)
		c.scalar = len(shape) == 0
		return out(c.expand(c.x(0), shape))
	}},
	"Transpose": {1, func(c *call) []*sym.Symbol {
		perm := c.nums("perm")
		if len(perm) > 0 {
			perm = c.axes(perm, c.in[0].rank())
		}
		c.scalar = c.in[0].rank() == 0
		if c.in[0].rank() < 2 {
			return out(sym.Identity(c.x(0)))
		}
		return out(sym.Transpose(c.x(0), sym.TransposeParams{Axes: perm}))
	}},
}

// possible reports whether a computed shape can be one.
func (c *call) possible(s dtype.Shape) bool {
	wide := make([]int64, len(s))
	for i, d := range s {
		wide[i] = int64(d)
	}
	if _, _, err := file.Shape(wide); err != nil {
		c.fail("%w", err)
		return false
	}
	return true
}

// reshape gives a symbol another shape of the same size.
func (c *call) reshape(s *sym.Symbol, shape dtype.Shape) *sym.Symbol {
	want, have := file.Stored(shape), c.shapeOf(s)
	if c.err != nil || have.Equal(want) {
		return s
	}
	if have.Size() != want.Size() {
		c.fail("shape %v of %d elements, want %d as in %v", shape, want.Size(), have.Size(), have)
		return s
	}
	if want.Size() == 0 {
		return c.empty(s, want)
	}
	return sym.Reshape(s, sym.ReshapeParams{Shape: want})
}

// empty makes an array without elements, of the element type of s.
func (c *call) empty(s *sym.Symbol, shape dtype.Shape) *sym.Symbol {
	return c.constant(nd.Empty(shape, nd.As(c.fact(s).typ)))
}

// reshape reads its shape with 0 for an extent that stays and -1 for the remaining one.
func reshape(c *call) []*sym.Symbol {
	want := c.nums("shape")
	if c.has(1) {
		want = c.ints(1)
	}
	if c.err != nil {
		return nil
	}
	have := c.in[0].shape
	shape, open := dtype.Shape(slices.Clone(want)), -1
	known := 1
	for i, d := range shape {
		switch {
		case d == 0 && c.num("allowzero", 0) == 0:
			if i >= len(have) {
				return c.fail("shape %v keeps axis %d of %v", want, i, have)
			}
			shape[i] = have[i]
		case d == -1 && open < 0:
			open = i
			continue
		case d < 0:
			return c.fail("shape %v, want extents of 0 or more and -1 at most once", want)
		}
		if shape[i] > 0 && known > 1<<40/shape[i] {
			return c.fail("shape %v is too large", want)
		}
		known *= shape[i]
	}
	if open >= 0 {
		if known == 0 || have.Size()%known != 0 {
			return c.fail("shape %v for %d elements: -1 has no value", want, have.Size())
		}
		shape[open] = have.Size() / known
	}
	c.scalar = len(shape) == 0
	return out(c.reshape(c.x(0), shape))
}

func flatten(c *call) []*sym.Symbol {
	rank := c.in[0].rank()
	a := c.num("axis", 1)
	if a < 0 {
		a += rank
	}
	if a < 0 || a > rank {
		return c.fail("axis %d of an array with %d axes", c.num("axis", 1), rank)
	}
	shape := c.in[0].shape
	return out(c.reshape(c.x(0), dtype.Shape{shape[:a].Size(), shape[a:].Size()}))
}

// listed returns axes from the attribute, or from an input in newer versions.
func (c *call) listed(input int) []int {
	if c.has(input) {
		return c.ints(input)
	}
	return c.nums("axes")
}

func squeeze(c *call) []*sym.Symbol {
	v := c.in[0]
	axes := c.axes(c.listed(1), v.rank())
	shape := dtype.Shape{}
	for i, d := range v.shape {
		switch {
		case !slices.Contains(axes, i) && (len(axes) > 0 || d != 1):
			shape = append(shape, d)
		case d != 1:
			return c.fail("axis %d of %v has the extent %d, want 1", i, v.shape, d)
		}
	}
	c.scalar = len(shape) == 0
	return out(c.reshape(c.x(0), shape))
}

func unsqueeze(c *call) []*sym.Symbol {
	v, list := c.in[0], c.listed(1)
	rank := v.rank() + len(list)
	axes := c.axes(list, rank)
	if c.err != nil {
		return nil
	}
	shape, next := dtype.Shape{}, 0
	for i := range rank {
		if slices.Contains(axes, i) {
			shape = append(shape, 1)
		} else {
			shape = append(shape, v.shape[next])
			next++
		}
	}
	c.scalar = len(shape) == 0
	return out(c.reshape(c.x(0), shape))
}

// shapeNode is a constant: shapes are known.
func shapeNode(c *call) []*sym.Symbol {
	shape := c.in[0].shape
	clip := func(i int) int {
		if i < 0 {
			i += len(shape)
		}
		return min(max(i, 0), len(shape))
	}
	from, to := clip(c.num("start", 0)), clip(c.num("end", len(shape)))
	c.integers(shape[from:max(from, to)], dtype.Shape{max(to-from, 0)})
	return nil
}

func sizeNode(c *call) []*sym.Symbol {
	c.integers([]int{c.in[0].size()}, dtype.Shape{})
	return nil
}

// integers makes a constant of int64 the output of the node.
func (c *call) integers(list []int, shape dtype.Shape) {
	wide := make([]int64, len(list))
	for i, v := range list {
		wide[i] = int64(v)
	}
	c.known(nd.FromSlice(wide, file.Stored(shape)...), shape)
}

// known makes an array the output of the node.
func (c *call) known(a *nd.Array, shape dtype.Shape) {
	c.direct = append(c.direct, c.im.constant(c.node.GetOpType(), a, shape))
}
