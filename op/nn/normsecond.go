package nn

import (
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// The gradients of the backward operators of normalizations: the work of one kernel, spelled as
// nodes. Statistics are computed once more from the data, so that gradients flow through them.

// batchMoving is like its input, of ones when batch normalization uses the moments of the batch, of
// zeros when it uses moving averages.
var batchMoving = op.Declare[op.NoParams]("_batch_moving")

func init() {
	batchMoving.Define(op.Spec[op.NoParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{0}},
		Infer:     op.SameShape[op.NoParams],
		InferType: op.FloatType[op.NoParams],
		Grad:      prim.ZeroGrad[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			v := 0.0
			if c.Train {
				v = 1
			}
			loop.Fill(c.Out[0], v)
			return nil
		},
	})
}

func square(a op.Entry) op.Entry { return prim.Square.Apply(none, a) }

// batchNormSecond differentiates batchNormGradRef. Sums are taken in the type of gamma.
func batchNormSecond(g *op.Grad, p BatchNormParams) []op.Entry {
	over := channelsOnly(p.Axis.Value())
	mean := func(e op.Entry) op.Entry { return prim.Mean.Apply(over, e) }
	return g.Through(func(in []op.Entry) []op.Entry {
		gamma, mu, inv := in[2], in[3], in[4]
		dy, x := prim.ToType(in[0], gamma), prim.ToType(in[1], gamma)
		wide := func(e op.Entry) op.Entry { return prim.Unreduce(over, e, x) }
		var moving func(e op.Entry) op.Entry // keeps what statistics of the batch contribute
		if p.UseGlobalStats {
			moving = func(e op.Entry) op.Entry { return prim.ZerosLike.Apply(none, e) }
		} else {
			ones := batchMoving.Apply(none, gamma)
			moving = func(e op.Entry) op.Entry { return mul(e, ones) }
			pick := func(batch, used op.Entry) op.Entry {
				return prim.Where.Apply(none, ones, batch, used)
			}
			centre := mean(x)
			deviation := mean(square(sub(x, wide(centre))))
			mu, inv = pick(centre, mu), pick(prim.Rsqrt.Apply(none, plus(deviation, p.Eps.Value())),
				inv)
		}
		hat := mul(sub(x, wide(mu)), wide(inv))
		factor := inv
		if p.NoFixGamma {
			factor = mul(inv, gamma)
		}
		pull := prim.ElemwiseAdd.Apply(none, wide(moving(mean(dy))),
			mul(hat, wide(moving(mean(mul(dy, hat))))))
		dx := prim.ToType(mul(wide(factor), sub(dy, pull)), in[1])
		dgamma := op.Entry{}
		if p.NoFixGamma {
			dgamma = prim.Sum.Apply(over, mul(dy, hat))
		}
		return []op.Entry{dx, dgamma, prim.Sum.Apply(over, dy)}
	})
}

// view says how a normalization is seen: data of another shape (nil: its own), the axis over which
// mean and deviation are taken, and the axis of gamma.
type view struct {
	shape        []int
	stats, param int
}

// normSecond differentiates affine.backward.
func normSecond(g *op.Grad, v view, eps float64) []op.Entry {
	over, params := prim.ReduceParams{Axis: []int{v.stats}, KeepDims: true}, channelsOnly(v.param)
	mean := func(e op.Entry) op.Entry { return prim.Mean.Apply(over, e) }
	minus := func(a, b op.Entry) op.Entry { return prim.BroadcastSub.Apply(none, a, b) }
	times := func(a, b op.Entry) op.Entry { return prim.BroadcastMul.Apply(none, a, b) }
	seen := func(e op.Entry) op.Entry {
		if v.shape == nil {
			return e
		}
		return prim.Reshape.Apply(prim.ReshapeParams{Shape: v.shape}, e)
	}
	return g.Through(func(in []op.Entry) []op.Entry {
		dy, x := seen(in[0]), seen(in[1])
		d := minus(x, mean(x))
		inv := prim.Rsqrt.Apply(none, plus(mean(square(d)), eps))
		hat := times(d, inv)
		scaled := mul(dy, prim.Unreduce(params, in[2], dy))
		dx := times(minus(minus(scaled, mean(scaled)), times(hat, mean(mul(scaled, hat)))), inv)
		if v.shape != nil {
			dx = prim.ReshapeLike.Apply(prim.ReshapeLikeParams{}, dx, in[1])
		}
		return []op.Entry{dx, prim.Sum.Apply(params, mul(dy, hat)), prim.Sum.Apply(params, dy)}
	})
}

// l2Second differentiates (dy - y·Σ dy·y)/norm.
func l2Second(g *op.Grad, p L2NormalizationParams) []op.Entry {
	over := map[string]prim.ReduceParams{
		"instance": {Axis: []int{0}, Exclude: true, KeepDims: true},
		"channel":  {Axis: []int{1}, KeepDims: true},
		"spatial":  {Axis: []int{0, 1}, Exclude: true, KeepDims: true},
	}[p.Mode]
	return g.Through(func(in []op.Entry) []op.Entry {
		dy, y, norm := in[0], in[1], in[2]
		along := prim.Sum.Apply(over, mul(dy, y))
		return []op.Entry{prim.BroadcastDiv.Apply(none,
			sub(dy, prim.BroadcastMul.Apply(none, y, along)), norm)}
	})
}

// lrnSecond differentiates lrnGradRef, with the sums over neighbouring channels as pooling over an
// image of channels and positions.
func lrnSecond(g *op.Grad, p LRNParams) []op.Entry {
	window := PoolingParams{Kernel: []int{p.Nsize, 1}, Pad: []int{p.Nsize / 2, 0}, PoolType: "sum"}
	neighbours := func(e op.Entry) op.Entry {
		flat := prim.Reshape.Apply(prim.ReshapeParams{Shape: []int{0, 0, -1}}, e)
		sums := Pooling.Apply(window, prim.ExpandDims.Apply(prim.ExpandDimsParams{Axis: 1}, flat))
		return prim.ReshapeLike.Apply(prim.ReshapeLikeParams{}, sums, e)
	}
	alpha, beta := p.Alpha.Value()/float64(p.Nsize), p.Beta.Value()
	return g.Through(func(in []op.Entry) []op.Entry {
		dy, x := in[0], in[1]
		norm := plus(scale(neighbours(square(x)), alpha), p.Knorm.Value())
		across := neighbours(mul(mul(dy, x), power(norm, -beta-1)))
		return []op.Entry{sub(mul(dy, power(norm, -beta)), scale(mul(x, across), 2*alpha*beta))}
	})
}
