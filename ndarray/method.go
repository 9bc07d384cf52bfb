package ndarray

import (
	"gomx/op"
	"gomx/op/prim"
)

// Dot returns the product of matrices, or the inner product of vectors; see the function Dot for
// transposed operands.
func (a *Array) Dot(b *Array) *Array { return apply1(prim.Dot.Op, prim.DotParams{}, a, b) }

// T returns the transpose: the axes in reverse order.
func (a *Array) T() *Array { return apply1(prim.Transpose.Op, prim.TransposeParams{}, a) }

// Transpose returns a with its axes in the given order, reversed if there is none.
func (a *Array) Transpose(axes ...int) *Array {
	return apply1(prim.Transpose.Op, prim.TransposeParams{Axes: axes}, a)
}

// Sum returns the sum along the given axes, of all elements if there are none. As in MXNet the
// sum of all elements has shape (1,).
func (a *Array) Sum(axes ...int) *Array { return reduce(prim.Sum, a, axes) }

// Mean returns the mean along the given axes; see Sum.
func (a *Array) Mean(axes ...int) *Array { return reduce(prim.Mean, a, axes) }

// Max returns the largest element along the given axes; see Sum.
func (a *Array) Max(axes ...int) *Array { return reduce(prim.Max, a, axes) }

// Min returns the smallest element along the given axes; see Sum.
func (a *Array) Min(axes ...int) *Array { return reduce(prim.Min, a, axes) }

// Prod returns the product along the given axes; see Sum.
func (a *Array) Prod(axes ...int) *Array { return reduce(prim.Prod, a, axes) }

// NanSum returns the sum along the given axes of the elements that are not NaN; see Sum.
func (a *Array) NanSum(axes ...int) *Array { return reduce(prim.NanSum, a, axes) }

// NanProd returns the product along the given axes of the elements that are not NaN; see Sum.
func (a *Array) NanProd(axes ...int) *Array { return reduce(prim.NanProd, a, axes) }

// Norm returns the Euclidean norm along the given axes; see Sum.
func (a *Array) Norm(axes ...int) *Array { return apply1(opNorm, NormParams{Axis: axes}, a) }

// reduce applies a reduction.
func reduce(h op.Handle[prim.ReduceParams], a *Array, axes []int) *Array {
	return apply1(h.Op, prim.ReduceParams{Axis: axes}, a)
}

// Softmax returns exp(a) normalized to a sum of one along the last axis.
func (a *Array) Softmax() *Array { return apply1(prim.Softmax.Op, prim.SoftmaxParams{}, a) }

// LogSoftmax returns the logarithm of Softmax.
func (a *Array) LogSoftmax() *Array { return apply1(prim.LogSoftmax.Op, prim.SoftmaxParams{}, a) }

// Softmin returns exp(-a) normalized to a sum of one along the last axis.
func (a *Array) Softmin() *Array {
	return applyNamed(opSoftmin, SoftmaxParams{}, inSoftmin, nil, a, nil)
}

// Clip limits the elements to lo … hi.
func (a *Array) Clip(lo, hi float64) *Array {
	return apply1(prim.Clip.Op, prim.ClipParams{AMin: lo, AMax: hi}, a)
}

// Flatten returns a view with two axes: the first of a, and all others as one.
func (a *Array) Flatten() *Array {
	a.mem("Flatten")
	if len(a.shape) == 0 {
		return a.Reshape(1, 1)
	}
	n := 1
	for _, d := range a.shape[1:] {
		n *= d
	}
	return a.reshape("Flatten", Shape{a.shape[0], n})
}

// ExpandDims returns a view with an additional axis of extent one; a negative axis counts from the
// end of the result.
func (a *Array) ExpandDims(axis int) *Array {
	a.mem("ExpandDims")
	k := fromEnd(axis, len(a.shape)+1)
	if k < 0 || k > len(a.shape) {
		panic(misuse("ExpandDims", "axis", "%d, want at most %d", axis, len(a.shape)))
	}
	shape := append(append(a.shape[:k:k].Clone(), 1), a.shape[k:]...)
	return a.reshape("ExpandDims", shape)
}
