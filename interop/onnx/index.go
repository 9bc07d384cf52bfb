package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// indexRows look elements up and write elements by index.
var indexRows = map[string]row{
	"Gather": {2, gather}, "GatherElements": {2, gatherElements}, "GatherND": {2, gatherND},
	"ScatterElements": {3, scatterElements}, "Scatter": {3, scatterElements},
	"ScatterND": {3, scatterND}, "TopK": {1, topK}, "CumSum": {2, cumSum},
	"Compress": {2, compress}, "ReverseSequence": {2, reverseSequence},
}

// gather looks slices up along an axis; negative indices count from the end.
func gather(c *call) []*sym.Symbol {
	a := c.axis(c.num("axis", 0), c.in[0].rank())
	if c.err != nil {
		return nil
	}
	if v := c.in[1]; v.fixed != nil {
		list := c.ints(1)
		n := c.in[0].shape[a]
		for _, i := range list {
			if i < -n || i >= n {
				return c.fail("index %d of an axis of extent %d", i, n)
			}
		}
	}
	s := sym.Take(c.x(0), c.x(1), sym.TakeParams{Axis: a, Mode: "wrap"})
	shape := slices.Concat(c.in[0].shape[:a], c.in[1].shape, c.in[0].shape[a+1:])
	c.scalar = len(shape) == 0
	return out(c.reshape(s, shape))
}

// flatIndex returns, for indices along an axis, the places in the flat array.
func flatIndex(c *call, shape dtype.Shape, ids *value, axis int) *sym.Symbol {
	if len(shape) != ids.rank() {
		c.fail("indices of shape %v for data of shape %v, want as many axes", ids.shape, shape)
		return ids.s
	}
	s := cast(ids.s, dtype.Int64)
	n := shape[axis]
	s = sym.BroadcastAdd(s, times(cast(sym.LesserScalar(s, sym.ScalarParams{}), dtype.Int64),
		float64(n)))
	strides := shape.Strides()
	s = times(s, float64(strides[axis]))
	for i, d := range ids.shape {
		if i == axis || d == 1 {
			continue
		}
		if d > 1<<24 {
			c.fail("indices of shape %v are too large", ids.shape)
			return s
		}
		steps := make([]int, d)
		for k := range steps {
			steps[k] = k * strides[i]
		}
		ruler := make([]int, len(shape))
		for k := range ruler {
			ruler[k] = 1
		}
		ruler[i] = d
		s = sym.BroadcastAdd(s, c.indices(steps, ruler...))
	}
	return s
}

func gatherElements(c *call) []*sym.Symbol {
	v := c.in[0]
	a := c.axis(c.num("axis", 0), v.rank())
	if c.err != nil {
		return nil
	}
	places := flatIndex(c, v.shape, c.in[1], a)
	if c.err != nil {
		return nil
	}
	return out(sym.Take(c.reshape(c.x(0), dtype.Shape{v.size()}), places, sym.TakeParams{}))
}

// gatherND has the parts of an index on the last axis, gomx on the first. Batch axes become parts
// of the index.
func gatherND(c *call) []*sym.Symbol {
	v, ids, batch := c.in[0], c.in[1], c.num("batch_dims", 0)
	if ids.rank() == 0 || batch < 0 || batch >= ids.rank() || batch >= max(1, v.rank()) {
		return c.fail("indices of shape %v with %d batch axes", ids.shape, batch)
	}
	k := ids.shape[ids.rank()-1]
	if k < 1 || k+batch > v.rank() {
		return c.fail("indices of %d parts for data of shape %v", k, v.shape)
	}
	s := cast(c.x(1), dtype.Int64)
	if batch > 0 {
		parts := []*sym.Symbol{}
		shape := append(ids.shape[:ids.rank()-1].Clone(), 1)
		for b := range batch {
			ruler := make([]int, ids.rank())
			for i := range ruler {
				ruler[i] = 1
			}
			ruler[b] = shape[b]
			steps := make([]int, shape[b])
			for i := range steps {
				steps[i] = i
			}
			parts = append(parts, c.expand(c.indices(steps, ruler...), shape))
		}
		s = sym.Concat(append(parts, s), sym.ConcatParams{Dim: sym.Some(ids.rank() - 1)})
	}
	s = sym.GatherND(c.x(0), lastFirst(s, ids.rank()))
	shape := slices.Concat(ids.shape[:ids.rank()-1], v.shape[k+batch:])
	c.scalar = len(shape) == 0
	return out(c.reshape(s, shape))
}

// lastFirst moves the last axis to the front.
func lastFirst(s *sym.Symbol, rank int) *sym.Symbol {
	if rank < 2 {
		return s
	}
	axes := []int{rank - 1}
	for i := range rank - 1 {
		axes = append(axes, i)
	}
	return sym.Transpose(s, sym.TransposeParams{Axes: axes})
}

// scattering returns the parameters of a scatter: how updates join the elements of the data.
func scattering(c *call) sym.ScatterReduceParams {
	r := c.text("reduction", "none")
	switch r {
	case "none":
		r = "set"
	case "add", "mul", "max", "min":
	default:
		c.fail("reduction %q, want none, add, mul, max or min", r)
	}
	return sym.ScatterReduceParams{Reduction: r}
}

func scatterElements(c *call) []*sym.Symbol {
	v := c.in[0]
	a := c.axis(c.num("axis", 0), v.rank())
	p := scattering(c)
	if c.err != nil {
		return nil
	}
	places := flatIndex(c, v.shape, c.in[1], a)
	if c.err != nil {
		return nil
	}
	n := c.in[1].size()
	s := sym.ScatterReduceND(c.reshape(c.x(0), dtype.Shape{v.size()}),
		c.reshape(places, dtype.Shape{1, n}), c.reshape(c.x(2), dtype.Shape{n}), p)
	return out(c.reshape(s, v.shape))
}

func scatterND(c *call) []*sym.Symbol {
	ids, p := c.in[1], scattering(c)
	if c.err != nil {
		return nil
	}
	if ids.rank() == 0 {
		return c.fail("indices of shape %v, want at least one axis", ids.shape)
	}
	return out(sym.ScatterReduceND(c.x(0), lastFirst(cast(c.x(1), dtype.Int64), ids.rank()),
		c.x(2), p))
}

func topK(c *call) []*sym.Symbol {
	v, k := c.in[0], c.num("k", 0)
	if c.has(1) {
		if list := c.ints(1); len(list) == 1 {
			k = list[0]
		}
	}
	a := c.axis(c.num("axis", -1), v.rank())
	if c.err != nil {
		return nil
	}
	if k < 1 || k > v.shape[a] {
		return c.fail("the %d first of an axis of extent %d", k, v.shape[a])
	}
	s := sym.TopK(c.x(0), sym.TopKParams{Axis: sym.Some(a), K: sym.Some(k), RetTyp: "both",
		IsAscend: c.num("largest", 1) == 0, DType: dtype.Int64})
	return outputs(s, 2)
}

// cumSum sums along an axis; exclusive sums begin with zero, reverse ones at the end.
func cumSum(c *call) []*sym.Symbol {
	list := c.ints(1)
	if c.err != nil {
		return nil
	}
	if len(list) != 1 {
		return c.fail("axes %v, want one", list)
	}
	v := c.in[0]
	a := c.axis(list[0], v.rank())
	if c.err != nil {
		return nil
	}
	s := c.x(0)
	back := c.num("reverse", 0) != 0
	turn := func(s *sym.Symbol) *sym.Symbol {
		if !back {
			return s
		}
		return sym.Reverse(s, sym.ReverseParams{Axis: []int{a}})
	}
	s = sym.CumSum(turn(s), sym.CumSumParams{Axis: sym.Some(a)})
	if c.num("exclusive", 0) != 0 {
		s = c.padAxis(cut(s, a, 0, max(0, v.shape[a]-1)), padding{"constant", a, 1, 0, 0})
	}
	return out(turn(s))
}

// compress selects the places where a known condition holds.
func compress(c *call) []*sym.Symbol {
	v, hold := c.in[0], c.ints(1)
	if c.err != nil {
		return nil
	}
	s, a, n := c.x(0), 0, v.size()
	if c.attr["axis"] != nil {
		a = c.axis(c.num("axis", 0), v.rank())
		if c.err != nil {
			return nil
		}
		n = v.shape[a]
	} else {
		s = c.reshape(s, dtype.Shape{n})
	}
	var list []int
	for i, h := range hold {
		if h != 0 && i < n {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return out(cut(s, a, 0, 0))
	}
	return out(c.take(s, a, list))
}

func reverseSequence(c *call) []*sym.Symbol {
	v := c.in[0]
	steps, batch := c.num("time_axis", 0), c.num("batch_axis", 1)
	if v.rank() < 2 || steps+batch != 1 || steps*batch != 0 {
		return c.fail("axes %d and %d of shape %v, want 0 and 1", steps, batch, v.shape)
	}
	swap := func(s *sym.Symbol) *sym.Symbol {
		if steps == 0 {
			return s
		}
		return sym.SwapAxis(s, sym.SwapAxisParams{Dim1: 0, Dim2: 1})
	}
	s := sym.SequenceReverse(swap(c.x(0)), sym.SequenceParams{UseSequenceLength: true},
		sym.With("sequence_length", cast(c.x(1), v.typ)))
	return out(swap(s))
}
