package onnx

import (
	"math"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// makeRows are operators that make arrays.
var makeRows = map[string]row{
	"Constant": {0, constantNode}, "ConstantOfShape": {1, constantOfShape}, "Range": {3, rangeNode},
	"EyeLike": {1, eyeLike}, "OneHot": {3, oneHot},
	"HannWindow":     {1, cosines(0.5, 0.5, 0)},
	"HammingWindow":  {1, cosines(25.0/46, 1-25.0/46, 0)},
	"BlackmanWindow": {1, cosines(0.42, 0.5, 0.08)},
	"Dropout":        {1, dropout},
}

// constantNode has its value in one of several attributes.
func constantNode(c *call) []*sym.Symbol {
	if t := c.attr["value"].GetT(); t != nil {
		a, shape, err := file.Array(t, c.im.root)
		if err != nil {
			return c.fail("%w", err)
		}
		c.known(a, shape)
		return nil
	}
	switch {
	case c.attr["value_int"] != nil:
		c.integers([]int{c.num("value_int", 0)}, dtype.Shape{})
	case c.attr["value_ints"] != nil:
		list := c.nums("value_ints")
		c.integers(list, dtype.Shape{len(list)})
	case c.attr["value_float"] != nil:
		c.known(nd.FromSlice([]float32{c.attr["value_float"].GetF()}, 1), dtype.Shape{})
	case c.attr["value_floats"] != nil:
		list := c.attr["value_floats"].GetFloats()
		c.known(nd.FromSlice(list, len(list)), dtype.Shape{len(list)})
	default:
		return c.fail("a constant of strings or sparse values, want numbers")
	}
	return nil
}

func constantOfShape(c *call) []*sym.Symbol {
	shape := dtype.Shape(c.ints(0))
	if c.err != nil || !c.possible(shape) {
		return nil
	}
	one := c.numbers(dtype.Float32, []float64{0})
	if t := c.attr["value"].GetT(); t != nil {
		a, s, err := file.Array(t, c.im.root)
		if err != nil || s.Size() != 1 {
			return c.fail("value of shape %v, want one number (%v)", s, err)
		}
		one = c.reshape(c.constant(a), dtype.Shape{1})
	}
	c.scalar = len(shape) == 0
	return out(sym.Identity(c.expand(one, shape)))
}

// rangeNode makes a constant: its bounds are known.
func rangeNode(c *call) []*sym.Symbol {
	start, limit, delta := c.reals(0), c.reals(1), c.reals(2)
	if c.err != nil {
		return nil
	}
	if len(start) != 1 || len(limit) != 1 || len(delta) != 1 || delta[0] == 0 {
		return c.fail("bounds %v, %v and %v, want a number each and a step other than zero", start,
			limit, delta)
	}
	n := math.Ceil((limit[0] - start[0]) / delta[0])
	if !(n <= 1<<22) {
		return c.fail("a range of %g numbers, want at most %d", n, 1<<22)
	}
	list := make([]float64, max(0, int(n)))
	for i := range list {
		list[i] = start[0] + float64(i)*delta[0]
	}
	c.known(nd.Cast(nd.FromSlice(list, len(list)), nd.CastParams{DType: c.in[0].typ}),
		dtype.Shape{len(list)})
	return nil
}

func eyeLike(c *call) []*sym.Symbol {
	v := c.in[0]
	if v.rank() != 2 {
		return c.fail("shape %v, want a matrix", v.shape)
	}
	t := v.typ
	if c.attr["dtype"] != nil {
		var err error
		if t, err = file.ElementType(int32(c.num("dtype", 1))); err != nil {
			return c.fail("%w", err)
		}
	}
	return out(sym.Eye(sym.EyeParams{N: v.shape[0], M: v.shape[1], K: c.num("k", 0), DType: t}))
}

// oneHot has its values in an input: off and on.
func oneHot(c *call) []*sym.Symbol {
	depth, v := c.reals(1), c.in[0]
	if c.err != nil {
		return nil
	}
	if len(depth) != 1 || depth[0] < 1 || depth[0] > 1<<24 || c.in[2].size() != 2 {
		return c.fail("depth %v and values of shape %v, want a number from 1 and two values", depth,
			c.in[2].shape)
	}
	n := int(depth[0])
	a := c.axis(c.num("axis", -1), v.rank()+1)
	shape := v.shape.Clone()
	ids := c.reshape(cast(c.x(0), dtype.Int64), append(shape[:a:a], append([]int{1},
		shape[a:]...)...))
	ids = sym.BroadcastAdd(ids, times(cast(sym.LesserScalar(ids, sym.ScalarParams{}), dtype.Int64),
		float64(n)))
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	ruler := make([]int, v.rank()+1)
	for i := range ruler {
		ruler[i] = 1
	}
	ruler[a] = n
	t := c.in[2].typ
	hit := cast(sym.BroadcastEqual(ids, c.indices(places, ruler...)), dtype.Int64)
	return out(cast(sym.Take(c.x(2), hit, sym.TakeParams{}), t))
}

// cosines makes rows of windows of cosines: a - b·cos(2πi/n) + d·cos(4πi/n).
func cosines(a, b, d float64) importer {
	return func(c *call) []*sym.Symbol {
		size := c.ints(0)
		t, err := file.ElementType(int32(c.num("output_datatype", 1)))
		if err != nil {
			return c.fail("%w", err)
		}
		if c.err != nil {
			return nil
		}
		if len(size) != 1 || size[0] < 1 || size[0] > 1<<22 {
			return c.fail("size %v, want a number from 1 to %d", size, 1<<22)
		}
		list := make([]float64, size[0])
		n := float64(size[0])
		if c.num("periodic", 1) == 0 {
			n--
		}
		for i := range list {
			x := 2 * math.Pi * float64(i) / max(n, 1)
			list[i] = a - b*math.Cos(x) + d*math.Cos(2*x)
		}
		return out(sym.Identity(c.numbers(t, list)))
	}
}

// dropout passes its input, unless training_mode asks for drops in every run.
func dropout(c *call) []*sym.Symbol {
	if c.has(2) {
		training, ratio := c.ints(2), []float64{0.5}
		if c.has(1) {
			ratio = c.reals(1)
		}
		if c.err != nil {
			return nil
		}
		if len(training) != 1 || len(ratio) != 1 {
			return c.fail("training_mode %v and ratio %v, want one value each", training, ratio)
		}
		if training[0] != 0 && ratio[0] != 0 {
			return dropping(c, ratio[0])
		}
	}
	c.scalar = c.in[0].rank() == 0
	mask := cast(sym.OnesLike(c.x(0)), dtype.Bool)
	return []*sym.Symbol{sym.Identity(c.x(0)), mask}
}
