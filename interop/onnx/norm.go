package onnx

import (
	"gomx/dtype"
	sym "gomx/symbol"
)

// normRows are normalizations.
var normRows = map[string]row{
	"BatchNormalization": {5, batchNorm}, "LayerNormalization": {2, layerNorm},
	"com.microsoft:LayerNormalization": {2, layerNorm},
	"GroupNormalization":               {3, groupNorm}, "InstanceNormalization": {3, instanceNorm},
	"MeanVarianceNormalization": {1, meanVariance}, "LRN": {1, lrn},
	"LpNormalization": {1, lpNorm}, "RMSNormalization": {2, rmsNorm},
	"Softmax": {1, softmax(sym.Softmax)}, "LogSoftmax": {1, softmax(sym.LogSoftmax)},
	"Hardmax": {1, hardmax},
}

// channels gives an array of n channels the shape (1, n, 1, …) of rank axes.
func channels(c *call, s *sym.Symbol, n, rank int) *sym.Symbol {
	shape := dtype.Shape{1, n}
	for len(shape) < rank {
		shape = append(shape, 1)
	}
	return c.reshape(s, shape[:rank])
}

// normalized is (x - mean) · 1/sqrt(variance + eps), with mean and factor, over axes.
func normalized(x *sym.Symbol, axes []int, eps float64) (y, mean, factor *sym.Symbol) {
	p := sym.ReduceParams{Axis: axes, KeepDims: true}
	mean = sym.Mean(x, p)
	centred := sym.BroadcastSub(x, mean)
	factor = sym.Rsqrt(plus(sym.Mean(sym.Square(centred), p), eps))
	return sym.BroadcastMul(centred, factor), mean, factor
}

// upTo lists the axes from a to rank - 1.
func upTo(a, rank int) []int {
	var axes []int
	for ; a < rank; a++ {
		axes = append(axes, a)
	}
	return axes
}

// batchNorm uses gomx's operator where the statistics are parameters. The training form returns
// the new averages.
func batchNorm(c *call) []*sym.Symbol {
	v := c.in[0]
	if v.rank() < 2 {
		return c.fail("shape %v, want at least two axes", v.shape)
	}
	n, eps := v.shape[1], c.float("epsilon", 1e-5)
	if c.num("training_mode", 0) != 0 {
		return trainingNorm(c, n, eps)
	}
	known := true
	for i := 1; i < 5; i++ {
		known = known && c.in[i].fixed != nil && c.in[i].shape.Equal(dtype.Shape{n})
	}
	if known && v.typ == dtype.Float32 {
		fresh := func(i int) *sym.Symbol {
			return c.im.constant(c.in[i].name, c.in[i].fixed, c.in[i].shape).s
		}
		return out(sym.BatchNorm(c.x(0), sym.BatchNormParams{Eps: sym.Some(eps), NoFixGamma: true},
			sym.With("gamma", fresh(1)), sym.With("beta", fresh(2)),
			sym.With("moving_mean", fresh(3)), sym.With("moving_var", fresh(4))).At(0))
	}
	per := func(i int) *sym.Symbol { return channels(c, c.x(i), n, v.rank()) }
	y := sym.BroadcastMul(sym.BroadcastSub(c.x(0), per(3)), sym.Rsqrt(plus(per(4), eps)))
	return out(sym.BroadcastAdd(sym.BroadcastMul(y, per(1)), per(2)))
}

func trainingNorm(c *call, n int, eps float64) []*sym.Symbol {
	v := c.in[0]
	axes := append([]int{0}, upTo(2, v.rank())...)
	y, mean, _ := normalized(c.x(0), axes, eps)
	spread := sym.Mean(sym.Square(sym.BroadcastSub(c.x(0), mean)),
		sym.ReduceParams{Axis: axes, KeepDims: true})
	m := c.float("momentum", 0.9)
	average := func(i int, now *sym.Symbol) *sym.Symbol {
		return sym.BroadcastAdd(times(c.x(i), m), times(c.reshape(now, dtype.Shape{n}), 1-m))
	}
	per := func(i int) *sym.Symbol { return channels(c, c.x(i), n, v.rank()) }
	return []*sym.Symbol{sym.BroadcastAdd(sym.BroadcastMul(y, per(1)), per(2)), average(3, mean),
		average(4, spread)}
}

// layerNorm normalizes over the axes from axis on.
func layerNorm(c *call) []*sym.Symbol {
	v := c.in[0]
	a, eps := c.axis(c.num("axis", -1), v.rank()), c.float("epsilon", 1e-5)
	if c.err != nil {
		return nil
	}
	last := v.shape[v.rank()-1]
	if a == v.rank()-1 && c.wanted() == 1 && c.has(2) && v.typ == dtype.Float32 &&
		c.in[1].shape.Equal(dtype.Shape{last}) && c.in[2].shape.Equal(dtype.Shape{last}) {
		return out(sym.LayerNorm(c.x(0), sym.LayerNormParams{Eps: sym.Some(eps)},
			sym.With("gamma", c.x(1)), sym.With("beta", c.x(2))).At(0))
	}
	y, mean, factor := normalized(c.x(0), upTo(a, v.rank()), eps)
	y = sym.BroadcastMul(y, c.x(1))
	if c.has(2) {
		y = sym.BroadcastAdd(y, c.x(2))
	}
	return []*sym.Symbol{y, mean, factor}
}

// groupNorm has factors per group before opset 21, per channel from there on.
func groupNorm(c *call) []*sym.Symbol {
	v, g := c.in[0], c.num("num_groups", 1)
	if v.rank() < 2 || g < 1 || v.shape[1]%g != 0 {
		return c.fail("%d groups for data of shape %v", g, v.shape)
	}
	n, k := v.shape[0], v.shape[1]
	grouped := dtype.Shape{n, g, v.size() / max(1, n*g)}
	y, _, _ := normalized(c.reshape(c.x(0), grouped), []int{2}, c.float("epsilon", 1e-5))
	per := func(i int) *sym.Symbol {
		s := c.x(i)
		if c.in[i].size() == g && g != k {
			s = sym.Repeat(s, sym.RepeatParams{Repeats: k / g, Axis: sym.Some(0)})
		}
		return channels(c, s, k, v.rank())
	}
	y = c.reshape(y, v.shape)
	return out(sym.BroadcastAdd(sym.BroadcastMul(y, per(1)), per(2)))
}

func instanceNorm(c *call) []*sym.Symbol {
	v := c.in[0]
	if v.rank() < 3 {
		return c.fail("shape %v, want at least three axes", v.shape)
	}
	y, _, _ := normalized(c.x(0), upTo(2, v.rank()), c.float("epsilon", 1e-5))
	per := func(i int) *sym.Symbol { return channels(c, c.x(i), v.shape[1], v.rank()) }
	return out(sym.BroadcastAdd(sym.BroadcastMul(y, per(1)), per(2)))
}

func meanVariance(c *call) []*sym.Symbol {
	axes := c.nums("axes")
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	axes = c.axes(axes, c.in[0].rank())
	if c.err != nil {
		return nil
	}
	y, _, _ := normalized(c.x(0), axes, 1e-9)
	return out(y)
}

func lrn(c *call) []*sym.Symbol {
	return out(sym.LRN(c.x(0), sym.LRNParams{Alpha: sym.Some(c.float("alpha", 1e-4)),
		Beta: sym.Some(c.float("beta", 0.75)), Knorm: sym.Some(c.float("bias", 1)),
		Nsize: c.num("size", 1)}).At(0))
}

func lpNorm(c *call) []*sym.Symbol {
	a := c.axis(c.num("axis", -1), c.in[0].rank())
	p := sym.ReduceParams{Axis: []int{a}, KeepDims: true}
	x := c.x(0)
	if c.num("p", 2) == 1 {
		return out(sym.BroadcastDiv(x, sym.Sum(sym.Abs(x), p)))
	}
	return out(sym.BroadcastDiv(x, sym.Sqrt(sym.Sum(sym.Square(x), p))))
}

func rmsNorm(c *call) []*sym.Symbol {
	v := c.in[0]
	a := c.axis(c.num("axis", -1), v.rank())
	square := sym.Mean(sym.Square(c.x(0)), sym.ReduceParams{Axis: upTo(a, v.rank()),
		KeepDims: true})
	y := sym.BroadcastMul(c.x(0), sym.Rsqrt(plus(square, c.float("epsilon", 1e-5))))
	return out(sym.BroadcastMul(y, c.x(1)))
}

// alongAxis applies a function along an axis. Before opset 13 the function sees a matrix: the axes
// from axis on are one.
func alongAxis(c *call, f func(s *sym.Symbol, axis, n int) *sym.Symbol) []*sym.Symbol {
	v := c.in[0]
	otherwise := -1
	if c.version < 13 {
		otherwise = 1
	}
	a := c.axis(c.num("axis", otherwise), v.rank())
	if c.err != nil {
		return nil
	}
	if c.version >= 13 {
		return out(f(c.x(0), a, v.shape[a]))
	}
	n := v.shape[a:].Size()
	s := c.reshape(c.x(0), dtype.Shape{v.shape[:a].Size(), n})
	return out(c.reshape(f(s, 1, n), v.shape))
}

func softmax(f func(s *sym.Symbol, p sym.SoftmaxParams,
	opts ...sym.Option) *sym.Symbol) importer {
	return func(c *call) []*sym.Symbol {
		return alongAxis(c, func(s *sym.Symbol, axis, _ int) *sym.Symbol {
			return f(s, sym.SoftmaxParams{Axis: sym.Some(axis)})
		})
	}
}

// hardmax is one at the first maximum and zero elsewhere.
func hardmax(c *call) []*sym.Symbol {
	return alongAxis(c, func(s *sym.Symbol, axis, n int) *sym.Symbol {
		rank := len(c.shapeOf(s))
		top := sym.ArgMax(s, sym.ArgParams{Axis: sym.Some(axis), KeepDims: true})
		ruler := make([]int, rank)
		for i := range ruler {
			ruler[i] = 1
		}
		if axis < rank {
			ruler[axis] = n
		}
		places := make([]float64, n)
		for i := range places {
			places[i] = float64(i)
		}
		return cast(sym.BroadcastEqual(top, c.numbers(dtype.Float32, places, ruler...)),
			c.in[0].typ)
	})
}
