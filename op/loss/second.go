package loss

import (
	"gomx/op"
	"gomx/op/prim"
)

// The gradients of backward operators, as nodes. Labels are constants.

var none = op.NoParams{}

func mul(a, b op.Entry) op.Entry { return prim.ElemwiseMul.Apply(none, a, b) }

// constant returns an entry with the gradient zero.
func constant(e op.Entry) op.Entry { return BlockGrad.Apply(none, e) }

func number(v float64) prim.ScalarParams { return prim.ScalarParams{Scalar: v} }

// softmaxTangent returns the derivative of a softmax y along the last axis in direction h of its
// argument: y·(h - Σ h·y).
func softmaxTangent(y, h op.Entry) op.Entry {
	sum := prim.Sum.Apply(prim.ReduceParams{Axis: []int{-1}, KeepDims: true}, mul(h, y))
	return mul(y, prim.BroadcastSub.Apply(none, h, sum))
}

// softmaxSecond differentiates factor·(y - target), with OutGrad also multiplied by y. It computes
// the factor, which is zero for ignored samples, as the difference of two values of the operator.
func softmaxSecond(g *op.Grad, p SoftmaxOutputParams) []op.Entry {
	plain, link := p, linkParams{Link: "softmax", Axis: []int{0}, Exclude: true}
	plain.OutGrad = false
	switch {
	case p.MultiOutput:
		link.Axis, link.Exclude = []int{1}, false
	case p.PreserveShape:
		link.Axis, link.Exclude = []int{-1}, false
	}
	return g.Through(func(in []op.Entry) []op.Entry {
		at := func(y op.Entry) op.Entry { return SoftmaxOutputGrad.Apply(plain, y, in[1], in[2]) }
		y := lossValue.Apply(link, in[0], in[2])
		low := constant(at(prim.ZerosLike.Apply(none, y)))
		factor := constant(prim.ElemwiseSub.Apply(none, at(prim.OnesLike.Apply(none, y)), low))
		dx := mul(y, factor)
		if p.OutGrad {
			dx = mul(prim.Total(dx, low), y)
		}
		return []op.Entry{dx}
	})
}
