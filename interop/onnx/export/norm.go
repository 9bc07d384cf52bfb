package export

import (
	"slices"

	"gomx/dtype"
	"gomx/op/nn"
)

// normRules are normalizations.
var normRules = rules{
	nn.BatchNorm.Op: on(batchNorm), nn.LayerNorm.Op: on(layerNorm),
	nn.BatchNormReLU.Op: on(func(c *call, p nn.BatchNormParams) []value {
		list := batchNorm(c, p)
		list[0] = c.unary("Relu", list[0])
		return list
	}),
	nn.SyncBatchNorm.Op: on(func(c *call, p nn.SyncBatchNormParams) []value {
		return batchNorm(c, nn.BatchNormParams{Eps: p.Eps, Momentum: p.Momentum,
			NoFixGamma: p.NoFixGamma, UseGlobalStats: p.UseGlobalStats,
			OutputMeanVar: p.OutputMeanVar})
	}),
	nn.GroupNorm.Op: on(groupNorm), nn.InstanceNorm.Op: on(instanceNorm),
	nn.L2Normalization.Op: on(l2Norm), nn.LRN.Op: on(lrn), nn.RMSNorm.Op: on(rmsNorm),
}

// batchNorm puts the channels on axis 1. In the training form the new averages become outputs of
// the model.
func batchNorm(c *call, p nn.BatchNormParams) []value {
	x, gamma := c.x(0), c.x(1)
	rank := len(x.shape)
	a := axis(p.Axis.Or(1), rank)
	n := x.shape[a]
	if !p.NoFixGamma {
		ones := make([]float64, n)
		for i := range ones {
			ones[i] = 1
		}
		gamma = c.constant(gamma.typ, dtype.Shape{n}, ones...)
	}
	perm := slices.Insert(slices.Delete(upTo(0, rank), a, a+1), min(1, rank-1), a)
	back := make([]int, rank)
	for i, k := range perm {
		back[k] = i
	}
	moved := c.transpose(x, perm...)
	in := []value{moved, gamma, c.x(2), c.x(3), c.x(4)}
	mean, variance := in[3], in[4]
	outs := []value{{"", moved.shape, x.typ}}
	attrs := []*attribute{float("epsilon", p.Eps.Value())}
	trains := c.ex.config.training && !p.UseGlobalStats
	if trains {
		outs = append(outs, value{"", mean.shape, mean.typ}, value{"", mean.shape, mean.typ})
		attrs = append(attrs, float("momentum", p.Momentum.Value()), num("training_mode", 1))
	}
	made := c.nodes("BatchNormalization", in, outs, attrs...)
	y := c.transpose(made[0], back...)
	if trains {
		c.state(3, made[1])
		c.state(4, made[2])
	}
	if !p.OutputMeanVar {
		return one(y)
	}
	if trains {
		axes := slices.Delete(upTo(0, rank), a, a+1)
		m, v := c.spread(c.cast(x, mean.typ), axes)
		mean, variance = c.reshape(m, mean.shape), c.reshape(v, mean.shape)
	}
	return []value{y, mean, inverseRoot(c, variance, p.Eps.Value())}
}

// state makes the new value of the auxiliary state at input i an output of the model.
func (c *call) state(i int, v value) {
	if name := c.node.In[i].Node.Name; c.node.In[i].Node.IsVar() {
		c.ex.states = append(c.ex.states, c.ex.renamed(v, c.ex.unique(name+"_new")))
	}
}

// inverseRoot is 1/sqrt(x + eps).
func inverseRoot(c *call, x value, eps float64) value {
	return c.unary("Reciprocal", deviation(c, x, eps))
}

// deviation is sqrt(x + eps).
func deviation(c *call, x value, eps float64) value {
	return c.unary("Sqrt", c.plus(x, c.like(x, eps)))
}

// layerNorm puts the axis at the end.
func layerNorm(c *call, p nn.LayerNormParams) []value {
	x := c.x(0)
	rank := len(x.shape)
	a := axis(p.Axis.Value(), rank)
	perm := append(slices.Delete(upTo(0, rank), a, a+1), a)
	moved := c.transpose(x, perm...)
	y := c.unaryOf("LayerNormalization", moved, []value{c.x(1), c.x(2)}, num("axis", -1),
		float("epsilon", p.Eps.Value()))
	list := one(c.transpose(y, slices.Insert(upTo(0, rank-1), a, rank-1)...))
	if p.OutputMeanVar {
		mean, variance := c.spread(x, []int{a})
		list = append(list, c.reshape(mean, c.out(1).shape),
			c.reshape(deviation(c, variance, p.Eps.Value()), c.out(2).shape))
	}
	return list
}

// unaryOf is unary with further inputs.
func (c *call) unaryOf(kind string, x value, more []value, attrs ...*attribute) value {
	return c.add(kind, x.shape, x.typ, append([]value{x}, more...), attrs...)
}

// groupNorm normalizes groups as if they were channels: MXNet's gamma and beta have one element per
// group.
func groupNorm(c *call, p nn.GroupNormParams) []value {
	x := c.x(0)
	n, g := x.shape[0], p.NumGroups
	grouped := c.reshape(x, dtype.Shape{n, g, x.shape[1:].Size() / g})
	y := c.unaryOf("InstanceNormalization", grouped, []value{c.x(1), c.x(2)},
		float("epsilon", p.Eps.Value()))
	list := one(c.reshape(y, x.shape))
	if p.OutputMeanVar {
		mean, variance := c.spread(grouped, []int{2})
		list = append(list, c.reshape(mean, c.out(1).shape),
			c.reshape(deviation(c, variance, p.Eps.Value()), c.out(2).shape))
	}
	return list
}

func instanceNorm(c *call, p nn.InstanceNormParams) []value {
	x := c.x(0)
	seen := x
	if len(x.shape) < 3 {
		seen = c.reshape(x, dtype.Shape{x.shape[0], x.shape[1], x.shape[2:].Size()})
	}
	y := c.unaryOf("InstanceNormalization", seen, []value{c.x(1), c.x(2)},
		float("epsilon", p.Eps.Value()))
	return one(c.reshape(y, x.shape))
}

func l2Norm(c *call, p nn.L2NormalizationParams) []value {
	x := c.x(0)
	axes := upTo(1, len(x.shape))
	switch p.Mode {
	case "channel":
		axes = []int{1}
	case "spatial":
		axes = upTo(2, len(x.shape))
	}
	square := c.reduce("ReduceSum", c.times(x, x), axes, true)
	return one(c.over(x, deviation(c, square, p.Eps.Value())))
}

// lrn sees images: runtimes want four axes.
func lrn(c *call, p nn.LRNParams) []value {
	x := c.x(0)
	seen := c.reshape(x, dtype.Shape{x.shape[0], x.shape[1], 1, x.shape[2:].Size()})
	if len(x.shape) == 4 {
		seen = x
	}
	y := c.unary("LRN", seen, float("alpha", p.Alpha.Value()), float("beta", p.Beta.Value()),
		float("bias", p.Knorm.Value()), num("size", p.Nsize))
	return one(c.reshape(y, x.shape))
}

func rmsNorm(c *call, p nn.RMSNormParams) []value {
	x := c.x(0)
	mean := c.reduce("ReduceMean", c.times(x, x), []int{len(x.shape) - 1}, true)
	return one(c.times(c.over(x, deviation(c, mean, p.Eps.Value())), c.x(1)))
}
