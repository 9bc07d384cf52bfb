package export

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/contrib"
	"gomx/op/loss"
	"gomx/op/update"
)

// lossRules are loss layers, whose labels only their gradients read, and measures.
var lossRules = rules{
	loss.SoftmaxOutput.Op:            on(softmaxOutput),
	loss.LinearRegressionOutput.Op:   identity,
	loss.MAERegressionOutput.Op:      identity,
	loss.LogisticRegressionOutput.Op: direct("Sigmoid"),
	loss.SVMOutput.Op:                identity,
	loss.MakeLoss.Op:                 identity,
	loss.AsLoss.Op:                   identity,
	loss.SparseReg.Op:                identity,
	loss.SoftmaxCrossEntropy.Op:      crossEntropy,
	update.AllFinite.Op:              allFinite,
	update.MultiAllFinite.Op:         allFinite,
	update.MultiSumSq.Op:             sumsOfSquares,
	contrib.AllClose.Op:              on(allClose),
}

var lossReasons = map[*op.Op]string{loss.CTCLoss.Op: "ONNX has no CTC loss"}

// softmaxOutput is the softmax over all axes but the first, over the last, or over the channels.
func softmaxOutput(c *call, p loss.SoftmaxOutputParams) []value {
	x := c.x(0)
	switch {
	case p.MultiOutput:
		return one(c.unary("Softmax", x, num("axis", 1)))
	case p.PreserveShape || len(x.shape) == 2:
		return one(c.unary("Softmax", x, num("axis", len(x.shape)-1)))
	}
	rows := c.reshape(x, dtype.Shape{x.shape[0], x.shape[1:].Size()})
	return one(c.reshape(c.unary("Softmax", rows, num("axis", 1)), x.shape))
}

// crossEntropy counts probabilities below 1e-8 as 1e-8, as it does for labels that are no class.
func crossEntropy(c *call) []value {
	x, label := c.x(0), c.cast(c.x(1), dtype.Int64)
	hit := c.test("Equal", c.reshape(label, dtype.Shape{x.shape[0], 1}),
		c.along(dtype.Int64, 1, 2, counting(x.shape[1])...))
	share := c.where(hit, c.unary("Softmax", x, num("axis", 1)), c.like(x, 0))
	share = c.reduce("ReduceSum", share, []int{1}, false)
	losses := c.unary("Log", c.binary("Max", share, c.like(x, 1e-8)))
	sum := c.reduce("ReduceSum", c.unary("Neg", losses), []int{0}, false)
	return one(c.reshape(sum, c.out(0).shape))
}

// allFinite is one if no element of any input is infinite or NaN.
func allFinite(c *call) []value {
	var good value
	for i, x := range c.all() {
		bad := c.test("Or", c.add("IsNaN", x.shape, dtype.Bool, one(x)),
			c.add("IsInf", x.shape, dtype.Bool, one(x)))
		g := c.cast(c.not(bad), dtype.Float32)
		g = c.reduce("ReduceMin", g, upTo(0, len(g.shape)), false)
		if i == 0 {
			good = g
		} else {
			good = c.times(good, g)
		}
	}
	return one(c.cast(c.reshape(good, c.out(0).shape), c.out(0).typ))
}

func sumsOfSquares(c *call) []value {
	var list []value
	for _, x := range c.all() {
		x = c.cast(x, dtype.Float32)
		sum := c.reduce("ReduceSum", c.times(x, x), upTo(0, len(x.shape)), false)
		list = append(list, c.reshape(sum, dtype.Shape{1}))
	}
	return one(c.cast(c.reshape(c.concat(0, list...), c.out(0).shape), c.out(0).typ))
}

func allClose(c *call, p contrib.AllCloseParams) []value {
	a, b := c.cast(c.x(0), dtype.Float32), c.cast(c.x(1), dtype.Float32)
	room := c.plus(c.scaled(c.unary("Abs", b), p.RTol.Value()), c.like(b, p.ATol.Value()))
	near := c.test("LessOrEqual", c.unary("Abs", c.minus(a, b)), room)
	near = c.test("Or", near, c.test("Equal", a, b))
	if !p.NotEqualNaN {
		near = c.test("Or", near, c.test("And", c.add("IsNaN", a.shape, dtype.Bool, one(a)),
			c.add("IsNaN", b.shape, dtype.Bool, one(b))))
	}
	y := c.reduce("ReduceMin", c.cast(near, dtype.Int32), upTo(0, len(a.shape)), false)
	return one(c.cast(c.reshape(y, c.out(0).shape), c.out(0).typ))
}
