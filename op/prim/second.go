package prim

import "gomx/op"

// The common parts of gradients of backward operators.

// Total adds the entries that are valid up; the zero Entry when none is.
func Total(list ...op.Entry) op.Entry {
	var sum op.Entry
	for _, e := range list {
		switch {
		case !e.Valid():
		case sum.Valid():
			sum = ElemwiseAdd.Apply(none, sum, e)
		default:
			sum = e
		}
	}
	return sum
}

// Unreduce repeats e, the result of reduction p of something like x, to the shape of x.
func Unreduce(p ReduceParams, e, x op.Entry) op.Entry {
	return expand(expandParams{Axis: p.Axis, KeepDims: p.KeepDims, Exclude: p.Exclude}, e, x)
}

// Bilinear is the gradient of a backward operator with the inputs dy, a, b and the outputs da, db,
// whose forward operator f is linear in a and in b. Back applies the backward operator itself.
func Bilinear(g *op.Grad, f func(a, b op.Entry) op.Entry,
	back func(dy, a, b op.Entry) *op.Node) []op.Entry {
	dy, a, b := g.In(0), g.In(1), g.In(2)
	in := make([]op.Entry, len(g.Node.In))
	if h := g.OutGrad[0]; h.Valid() {
		in[0], in[2] = f(h, b), back(dy, h, b).Entry(1)
	}
	if h := g.OutGrad[1]; h.Valid() {
		in[0], in[1] = Total(in[0], f(a, h)), back(dy, a, h).Entry(0)
	}
	return in
}

// Adjoint is the gradient of the backward operators of linear operators: the forward operator,
// applied to the gradient that flows in.
func Adjoint[P any](f func(g *op.Grad, p P, h op.Entry) op.Entry) func(g *op.Grad, p P) []op.Entry {
	return func(g *op.Grad, p P) []op.Entry {
		in := make([]op.Entry, len(g.Node.In))
		in[0] = f(g, p, g.Head(0))
		return in
	}
}

// ToType converts e to the element type of like.
func ToType(e, like op.Entry) op.Entry { return CastLike.Apply(none, e, like) }
