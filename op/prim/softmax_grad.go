package prim

import "gomx/op"

// second is the gradient of the backward operators of the family, as nodes.
func (k softmaxKind) second(g *op.Grad, p SoftmaxParams, back op.Handle[SoftmaxParams]) []op.Entry {
	h, dy, y := g.Head(0), g.In(0), g.In(1)
	convert := func(e op.Entry) op.Entry { // from the type of data to that of the output
		if t, ok := p.DType.Get(); ok {
			return Cast.Apply(CastParams{DType: t}, e)
		}
		return e
	}
	in := make([]op.Entry, len(g.Node.In))
	if k.log {
		in[0], in[1] = k.secondLog(p, convert(h), dy, y, g.Node.In[3:])
		return in
	}
	// The Jacobian is symmetric: the kernel applies it to h as well.
	in[0] = convert(back.Apply(p, append([]op.Entry{h}, g.Node.In[1:]...)...))
	h = convert(h)
	inner := func(a, b op.Entry) op.Entry { return p.sum(mul(a, b)) }
	in[1] = k.scale(p, ElemwiseSub.Apply(none,
		mul(h, BroadcastSub.Apply(none, dy, inner(dy, y))),
		BroadcastMul.Apply(none, dy, inner(h, y))))
	return in
}

// secondLog differentiates (dy - s·Σdy)/T with s = exp(y), where elements behind the length count
// for nothing.
func (k softmaxKind) secondLog(p SoftmaxParams, h, dy, y op.Entry, length []op.Entry) (ddy,
	ddata op.Entry) {
	s := Exp.Apply(none, y)
	if p.UseLength {
		plain := SoftmaxParams{Axis: p.Axis, UseLength: true}
		share := func(e op.Entry) op.Entry {
			return Softmax.Apply(plain, append([]op.Entry{e}, length...)...)
		}
		s = share(y)
		valid := Sign.Apply(none, share(ZerosLike.Apply(none, y))) // one for elements that count
		h, dy = mul(h, valid), mul(dy, valid)
		ddy = mul(valid, BroadcastSub.Apply(none, h, p.sum(mul(h, s))))
	} else {
		ddy = BroadcastSub.Apply(none, h, p.sum(mul(h, s)))
	}
	ddata = neg(BroadcastMul.Apply(none, mul(h, s), p.sum(dy)))
	return k.scale(p, ddy), k.scale(p, ddata)
}

// sum sums along the axis and keeps it.
func (p SoftmaxParams) sum(e op.Entry) op.Entry {
	return Sum.Apply(ReduceParams{Axis: []int{p.Axis.Value()}, KeepDims: true}, e)
}

// scale multiplies by the factor of the argument of exp.
func (k softmaxKind) scale(p SoftmaxParams, e op.Entry) op.Entry {
	if f := k.sign / p.Temperature.Or(1); f != 1 {
		return scale(e, f)
	}
	return e
}
