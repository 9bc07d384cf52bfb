package onnx

import (
	"math"
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// reduceRows sum and search along axes.
var reduceRows = map[string]row{
	"ReduceSum": {1, reduction(13, sym.Sum)}, "ReduceMean": {1, reduction(18, sym.Mean)},
	"ReduceMax": {1, reduction(18, sym.Max)}, "ReduceMin": {1, reduction(18, sym.Min)},
	"ReduceProd": {1, reduction(18, sym.Prod)},
	"ReduceL1": {1, reduction(18, func(s *sym.Symbol, p sym.ReduceParams,
		_ ...sym.Option) *sym.Symbol {
		return sym.Sum(sym.Abs(s), p)
	})},
	"ReduceL2": {1, reduction(18, func(s *sym.Symbol, p sym.ReduceParams,
		_ ...sym.Option) *sym.Symbol {
		return sym.Sqrt(sym.Sum(sym.Square(s), p))
	})},
	"ReduceSumSquare": {1, reduction(18, func(s *sym.Symbol, p sym.ReduceParams,
		_ ...sym.Option) *sym.Symbol {
		return sym.Sum(sym.Square(s), p)
	})},
	"ReduceLogSum": {1, reduction(18, func(s *sym.Symbol, p sym.ReduceParams,
		_ ...sym.Option) *sym.Symbol {
		return sym.Log(sym.Sum(s, p))
	})},
	"ReduceLogSumExp": {1, reduction(18, logSumExp)},
	"ArgMax":          {1, argument(sym.ArgMax)}, "ArgMin": {1, argument(sym.ArgMin)},
}

type reducer func(s *sym.Symbol, p sym.ReduceParams, opts ...sym.Option) *sym.Symbol

// reduction makes an importer of a reduction whose axes are an input from an operator set on.
func reduction(since int, f reducer) importer {
	return func(c *call) []*sym.Symbol {
		v := c.in[0]
		axes := c.nums("axes")
		if c.version >= since {
			axes = c.ints(1)
		}
		axes = c.axes(axes, v.rank())
		if c.err != nil {
			return nil
		}
		if len(axes) == 0 {
			if c.num("noop_with_empty_axes", 0) != 0 {
				c.scalar = v.rank() == 0
				return out(sym.Identity(c.x(0)))
			}
			for i := range v.rank() {
				axes = append(axes, i)
			}
		}
		shape := dtype.Shape{}
		for i, d := range v.shape {
			switch {
			case !slices.Contains(axes, i):
				shape = append(shape, d)
			case c.num("keepdims", 1) != 0:
				shape = append(shape, 1)
			}
		}
		c.scalar = len(shape) == 0
		if v.rank() == 0 {
			axes = []int{0}
		}
		if low, ok := extreme(c.node.GetOpType(), v.typ); ok && v.size() == 0 &&
			shape.Size() > 0 {
			return out(c.filled(shape, low, v.typ))
		}
		return out(c.reshape(f(c.x(0), sym.ReduceParams{Axis: axes, KeepDims: true}), shape))
	}
}

// extreme returns the result of a search for an extreme element where there is none.
func extreme(operator string, t dtype.Type) (v float64, ok bool) {
	switch operator {
	case "ReduceMax", "ReduceLogSumExp":
		return math.Inf(-1), t.IsFloat()
	case "ReduceMin":
		return math.Inf(1), t.IsFloat()
	}
	return 0, false
}

// logSumExp takes the maximum out of the sum, so that it does not overflow.
func logSumExp(s *sym.Symbol, p sym.ReduceParams, _ ...sym.Option) *sym.Symbol {
	top := sym.BlockGrad(sym.Max(s, p))
	return sym.BroadcastAdd(top, sym.Log(sym.Sum(sym.Exp(sym.BroadcastSub(s, top)), p)))
}

// argument makes an importer of the index of an extreme element.
func argument(f func(s *sym.Symbol, p sym.ArgParams, opts ...sym.Option) *sym.Symbol) importer {
	return func(c *call) []*sym.Symbol {
		v := c.in[0]
		a := c.axis(c.num("axis", 0), v.rank())
		if c.err != nil {
			return nil
		}
		s, last := c.x(0), c.num("select_last_index", 0) != 0
		if last {
			s = sym.Reverse(s, sym.ReverseParams{Axis: []int{a}})
		}
		s = cast(f(s, sym.ArgParams{Axis: sym.Some(a), KeepDims: true}), dtype.Int64)
		if last {
			s = sym.RMinusScalar(s, sym.ScalarParams{Scalar: float64(v.shape[a] - 1)})
		}
		shape := v.shape.Clone()
		shape[a] = 1
		if c.num("keepdims", 1) == 0 {
			shape = slices.Delete(shape, a, a+1)
		}
		c.scalar = len(shape) == 0
		return out(c.reshape(s, shape))
	}
}
