package nn

import (
	"math"

	"gomx/op"
	"gomx/op/prim"
)

// The gradients of backward operators of layers and activations, as nodes.

var none = op.NoParams{}

func mul(a, b op.Entry) op.Entry { return prim.ElemwiseMul.Apply(none, a, b) }
func sub(a, b op.Entry) op.Entry { return prim.ElemwiseSub.Apply(none, a, b) }
func scale(a op.Entry, f float64) op.Entry {
	return prim.MulScalar.Apply(prim.ScalarParams{Scalar: f}, a)
}
func plus(a op.Entry, f float64) op.Entry {
	return prim.PlusScalar.Apply(prim.ScalarParams{Scalar: f}, a)
}
func power(a op.Entry, f float64) op.Entry {
	return prim.PowerScalar.Apply(prim.ScalarParams{Scalar: f}, a)
}

// notAbove is one where a is at most f, zero elsewhere.
func notAbove(a op.Entry, f float64) op.Entry {
	return prim.LesserEqualScalar.Apply(prim.ScalarParams{Scalar: f}, a)
}

// channelsOnly reduces all axes but one.
func channelsOnly(axis int) prim.ReduceParams {
	return prim.ReduceParams{Axis: []int{axis}, Exclude: true}
}

// weightedSecond is the gradient of the backward operator of a layer with data, weight and bias.
// Plain is p without the bias, whose gradient has one element for each position along an axis.
func weightedSecond[P any](g *op.Grad, f, back op.Handle[P], plain P, axis int) []op.Entry {
	in := prim.Bilinear(g, func(x, w op.Entry) op.Entry { return f.Apply(plain, x, w) },
		func(dy, x, w op.Entry) *op.Node { return back.Node(plain, dy, x, w) })
	if len(g.OutGrad) == 3 && g.OutGrad[2].Valid() {
		in[0] = prim.Total(in[0], prim.Unreduce(channelsOnly(axis), g.OutGrad[2], g.In(0)))
	}
	return in
}

// activationSecond is the gradient of dy·slope(saved).
func activationSecond(g *op.Grad, p ActivationParams) []op.Entry {
	h, dy, saved := g.Head(0), g.In(0), g.In(1)
	in := []op.Entry{ActivationGrad.Apply(p, h, saved), {}}
	var bend op.Entry // the derivative of the slope
	switch p.ActType {
	case "sigmoid":
		bend = plus(scale(saved, -2), 1)
	case "tanh":
		bend = scale(saved, -2)
	case "softrelu":
		bend = prim.Exp.Apply(none, prim.Negative.Apply(none, saved))
	case "softsign":
		far := power(plus(prim.Abs.Apply(none, saved), 1), -3)
		bend = scale(mul(prim.Sign.Apply(none, saved), far), -2)
	default:
		return in
	}
	in[1] = mul(mul(h, dy), bend)
	return in
}

// leakySecond is the gradient of dy·slope(saved), of which prelu has a second part.
func leakySecond(g *op.Grad, p LeakyReLUParams) []op.Entry {
	if p.ActType == "prelu" {
		return preluSecond(g, p)
	}
	h, dy, v := g.Head(0), g.In(0), g.In(1)
	in := []op.Entry{LeakyReLUGrad.Apply(p, h, v), {}}
	var bend op.Entry
	slope := p.Slope.Value()
	switch {
	case p.ActType == "elu" && slope < 0:
		bend = mul(scale(prim.Exp.Apply(none, v), slope), notAbove(v, 0))
	case p.ActType == "elu":
		bend = notAbove(v, 0)
	case p.ActType == "selu":
		bend = scale(notAbove(v, 0), seluScale)
	case p.ActType == "gelu":
		square := prim.Square.Apply(none, v)
		bell := scale(prim.Exp.Apply(none, scale(square, -0.5)), 1/math.Sqrt(2*math.Pi))
		bend = mul(bell, plus(scale(square, -1), 2))
	default:
		return in
	}
	in[1] = mul(mul(h, dy), bend)
	return in
}

// preluSecond differentiates dx = dy·step(x, gamma) and dgamma = Σ dy·x over the elements x ≤ 0.
// The operators themselves know how gamma broadcasts: applied to -1 in place of x they repeat and
// sum.
func preluSecond(g *op.Grad, p LeakyReLUParams) []op.Entry {
	dy, x, gamma := g.In(0), g.In(1), g.In(2)
	low, minus := notAbove(x, 0), scale(prim.OnesLike.Apply(none, x), -1)
	in := make([]op.Entry, 3)
	if h := g.OutGrad[0]; h.Valid() {
		in[0] = LeakyReLUGrad.Apply(p, h, x, gamma)
		in[2] = scale(LeakyReLUGrad.Node(p, mul(mul(h, dy), low), minus, gamma).Entry(1), -1)
	}
	if h := g.OutGrad[1]; h.Valid() {
		wide := mul(scale(LeakyReLU.Apply(p, minus, h), -1), low)
		in[0] = prim.Total(in[0], mul(wide, x))
		in[1] = mul(wide, dy)
	}
	return in
}

// softmaxActivationSecond differentiates y·(dy - Σ dy·y).
func softmaxActivationSecond(g *op.Grad, p SoftmaxActivationParams) []op.Entry {
	over := prim.ReduceParams{Axis: []int{1}, KeepDims: true}
	if p.Mode == "instance" {
		over.Axis = []int{-1}
	}
	h, dy, y := g.Head(0), g.In(0), g.In(1)
	inner := func(a, b op.Entry) op.Entry { return prim.Sum.Apply(over, mul(a, b)) }
	return []op.Entry{
		SoftmaxActivationGrad.Apply(p, h, y),
		sub(mul(h, prim.BroadcastSub.Apply(none, dy, inner(dy, y))), prim.BroadcastMul.Apply(none,
			dy, inner(h, y))),
	}
}
