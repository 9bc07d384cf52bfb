package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// lossRows are losses of classifiers.
var lossRows = map[string]row{
	"SoftmaxCrossEntropyLoss": {2, func(c *call) []*sym.Symbol {
		logs := sym.LogSoftmax(c.x(0), sym.SoftmaxParams{Axis: sym.Some(1)})
		losses := likelihood(c, logs)
		if c.err != nil {
			return nil
		}
		values, err := c.valuesOf([]*sym.Symbol{losses, logs})
		if err != nil {
			return c.fail("%w", err)
		}
		c.direct = values
		reduced(c, values[0])
		return nil
	}},
	"NegativeLogLikelihoodLoss": {2, func(c *call) []*sym.Symbol {
		losses := likelihood(c, c.x(0))
		if c.err != nil {
			return nil
		}
		c.scalar = c.text("reduction", "mean") != "none"
		return out(losses)
	}},
}

// reduced makes a loss that is one number a scalar.
func reduced(c *call, v *value) {
	if c.text("reduction", "mean") != "none" {
		v.shape = dtype.Shape{}
	}
}

// likelihood is -logs[target], weighted, without the targets that are ignored, and reduced.
func likelihood(c *call, logs *sym.Symbol) *sym.Symbol {
	v, target := c.in[0], c.in[1]
	if v.rank() < 2 || target.rank() != v.rank()-1 {
		c.fail("scores of shape %v and targets of shape %v", v.shape, target.shape)
		return nil
	}
	n := v.shape[1]
	ids := cast(c.x(1), dtype.Int64)
	var counts *sym.Symbol
	if c.has(2) || c.attr["ignore_index"] != nil {
		counts = cast(sym.OnesLike(ids), v.typ)
	}
	if c.attr["ignore_index"] != nil {
		keep := sym.NotEqualScalar(ids, sym.ScalarParams{Scalar: float64(c.num("ignore_index", 0))})
		counts = sym.BroadcastMul(counts, cast(keep, v.typ))
		ids = sym.BroadcastMul(ids, cast(keep, dtype.Int64))
	}
	if c.has(2) {
		counts = sym.BroadcastMul(counts, sym.Take(c.x(2), ids, sym.TakeParams{}))
	}
	ruler := dtype.Shape{1, n}
	for len(ruler) < v.rank() {
		ruler = append(ruler, 1)
	}
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	wide := slices.Insert(target.shape.Clone(), 1, 1)
	hit := sym.BroadcastEqual(c.reshape(ids, wide), c.indices(places, ruler...))
	losses := sym.Negative(sym.Sum(sym.Where(c.expand(truthy(hit), v.shape), logs,
		sym.ZerosLike(logs)), sym.ReduceParams{Axis: []int{1}}))
	losses = c.reshape(losses, target.shape)
	if counts != nil {
		losses = sym.BroadcastMul(losses, counts)
	}
	switch c.text("reduction", "mean") {
	case "none":
		return losses
	case "sum":
		return sym.Sum(losses, sym.ReduceParams{})
	}
	if counts == nil {
		return sym.Mean(losses, sym.ReduceParams{})
	}
	return sym.BroadcastDiv(sym.Sum(losses, sym.ReduceParams{}),
		sym.Sum(counts, sym.ReduceParams{}))
}
