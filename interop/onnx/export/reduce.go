package export

import (
	"slices"

	"gomx/dtype"
	"gomx/op/prim"
)

// reduceRules are reductions and normalizations along an axis.
var reduceRules = rules{
	prim.Sum.Op: reduction("ReduceSum"), prim.Mean.Op: reduction("ReduceMean"),
	prim.Prod.Op: reduction("ReduceProd"), prim.Max.Op: reduction("ReduceMax"),
	prim.Min.Op: reduction("ReduceMin"), prim.NanSum.Op: withoutNaN("ReduceSum", 0),
	prim.NanProd.Op: withoutNaN("ReduceProd", 1), prim.Norm.Op: on(norm),
	prim.Moments.Op: on(moments),
	prim.Softmax.Op: softmax("Softmax", 1), prim.Softmin.Op: softmax("Softmax", -1),
	prim.LogSoftmax.Op: softmax("LogSoftmax", 1),
}

// reducedAxes lists the axes that a reduction removes, sorted.
func reducedAxes(axes []int, exclude bool, rank int) []int {
	if len(axes) == 0 {
		return upTo(0, rank)
	}
	var list []int
	for i := range rank {
		named := slices.ContainsFunc(axes, func(a int) bool { return axis(a, rank) == i })
		if named != exclude {
			list = append(list, i)
		}
	}
	return list
}

// reduced applies a reduction as gomx defines it: the result of all axes has shape (1).
func (c *call) reduced(kind string, x value, p prim.ReduceParams) value {
	t := x.typ
	y := c.reduce(kind, c.cast(x, wide(t)), reducedAxes(p.Axis, p.Exclude, len(x.shape)),
		p.KeepDims)
	return c.cast(c.reshape(y, c.out(0).shape), t)
}

func reduction(kind string) rule {
	return on(func(c *call, p prim.ReduceParams) []value {
		return one(c.reduced(kind, c.x(0), p))
	})
}

// withoutNaN puts a number in the place of NaN before a reduction.
func withoutNaN(kind string, v float64) rule {
	return on(func(c *call, p prim.ReduceParams) []value {
		x := c.x(0)
		if x.typ.IsFloat() {
			nan := c.add("IsNaN", x.shape, dtype.Bool, []value{x})
			x = c.where(nan, c.like(x, v), x)
		}
		return one(c.reduced(kind, x, p))
	})
}

func norm(c *call, p prim.NormParams) []value {
	kind := "ReduceL2"
	if p.Ord == 1 {
		kind = "ReduceL1"
	}
	x := c.x(0)
	y := c.reduced(kind, x, prim.ReduceParams{Axis: p.Axis, KeepDims: p.KeepDims})
	return one(c.cast(y, c.out(0).typ))
}

func moments(c *call, p prim.MomentsParams) []value {
	x := c.x(0)
	axes := reducedAxes(p.Axes, false, len(x.shape))
	mean, variance := c.spread(x, axes)
	shape := c.out(0).shape
	return []value{c.reshape(mean, shape), c.reshape(variance, shape)}
}

// spread is the mean and the variance over axes, which stay with extent one.
func (c *call) spread(x value, axes []int) (mean, variance value) {
	mean = c.reduce("ReduceMean", x, axes, true)
	centred := c.minus(x, mean)
	return mean, c.reduce("ReduceMean", c.times(centred, centred), axes, true)
}

// softmax divides by the temperature first. With lengths, elements behind them are out of the sums
// and zero in the result.
func softmax(kind string, sign float64) rule {
	return on(func(c *call, p prim.SoftmaxParams) []value {
		x := c.x(0)
		x = c.scaled(x, sign/p.Temperature.Or(1))
		rank := len(x.shape)
		a := axis(p.Axis.Value(), rank)
		if !p.UseLength {
			return one(c.cast(c.unary(kind, x, num("axis", a)), c.out(0).typ))
		}
		shape := x.shape.Clone()
		shape[a] = 1
		inside := c.test("Less", c.along(dtype.Int64, a, rank, counting(x.shape[a])...),
			c.reshape(c.cast(c.x(1), dtype.Int64), shape))
		y := c.unary(kind, c.where(inside, x, c.like(x, -1e30)), num("axis", a))
		if x.typ == dtype.Float16 {
			return c.fail("lengths of float16")
		}
		return one(c.cast(c.where(inside, y, c.like(y, 0)), c.out(0).typ))
	})
}
