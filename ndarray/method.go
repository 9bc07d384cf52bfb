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
	if a.traced() != nil {
		return apply1(prim.Flatten.Op, op.NoParams{}, a)
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
	if a.traced() != nil {
		return apply1(prim.ExpandDims.Op, prim.ExpandDimsParams{Axis: k}, a)
	}
	shape := append(append(a.shape[:k:k].Clone(), 1), a.shape[k:]...)
	return a.reshape("ExpandDims", shape)
}

// ArgMax returns the index of the largest element along an axis; a negative axis counts from the
// end.
func (a *Array) ArgMax(axis int) *Array {
	return apply1(opArgMax, ArgParams{Axis: op.Some(axis)}, a)
}

// ArgMin returns the index of the smallest element along an axis.
func (a *Array) ArgMin(axis int) *Array {
	return apply1(opArgMin, ArgParams{Axis: op.Some(axis)}, a)
}

// ArgMaxChannel is the operator argmax_channel.
func (a *Array) ArgMaxChannel() *Array { return apply1(opArgMaxChannel, op.NoParams{}, a) }

// Sort returns the elements in ascending order along an axis.
func (a *Array) Sort(axis int) *Array { return apply1(opSort, SortParams{Axis: op.Some(axis)}, a) }

// ArgSort returns the indices that sort an axis in ascending order.
func (a *Array) ArgSort(axis int) *Array {
	return apply1(opArgSort, ArgSortParams{Axis: op.Some(axis)}, a)
}

// TopK returns the indices of the k largest elements along an axis. The function TopK returns
// values, masks, or values and indices.
func (a *Array) TopK(k, axis int) *Array {
	return apply1(opTopK, TopKParams{K: op.Some(k), Axis: op.Some(axis)}, a)
}

// OneHot returns an array with an additional last axis of extent depth, which is 1 at the index
// that the element of a gives and 0 elsewhere.
func (a *Array) OneHot(depth int) *Array { return apply1(opOneHot, OneHotParams{Depth: depth}, a) }

// Pick returns the elements at the positions that index gives along an axis, one for each element
// of index.
func (a *Array) Pick(index *Array, axis int) *Array {
	return apply1(opPick, PickParams{Axis: op.Some(axis)}, a, index)
}

// Take returns the slices at the given indices along an axis. Indices out of range are clipped.
func (a *Array) Take(indices *Array, axis int) *Array {
	return apply1(opTake, TakeParams{Axis: axis}, a, indices)
}

// SliceAxis returns elements begin to end, exclusive, of an axis; negative numbers count from its
// end.
func (a *Array) SliceAxis(axis, begin, end int) *Array {
	return apply1(opSliceAxis, SliceAxisParams{Axis: axis, Begin: begin, End: op.Some(end)}, a)
}

// SliceLike cuts the given axes, or all if none is given, to the extents of b.
func (a *Array) SliceLike(b *Array, axes ...int) *Array {
	return apply1(opSliceLike, SliceLikeParams{Axes: axes}, a, b)
}

// Split cuts an axis into n equal parts.
func (a *Array) Split(n, axis int) []*Array {
	return applyMany(opSliceChannel, SliceChannelParams{NumOutputs: n, Axis: op.Some(axis)}, nil,
		nil, a)
}

// SplitAt cuts an axis into parts that begin at 0 and at each of the indices.
func (a *Array) SplitAt(axis int, indices ...int) []*Array {
	p := SplitV2Params{Indices: append([]int{0}, indices...), Axis: op.Some(axis)}
	return applyMany(opSplitV2, p, nil, nil, a)
}

// Diag returns diagonal k of the first two axes; for a vector it returns the matrix with this
// diagonal k.
func (a *Array) Diag(k int) *Array { return apply1(opDiag, DiagParams{K: k}, a) }

// Tile repeats the whole of a, reps[i] times along each axis; reps belongs to the last axes.
func (a *Array) Tile(reps ...int) *Array { return apply1(opTile, TileParams{Reps: reps}, a) }

// Repeat repeats each element n times along an axis.
func (a *Array) Repeat(n, axis int) *Array {
	return apply1(opRepeat, RepeatParams{Repeats: n, Axis: op.Some(axis)}, a)
}

// SwapAxes exchanges two axes.
func (a *Array) SwapAxes(i, j int) *Array {
	return apply1(opSwapAxis, SwapAxisParams{Dim1: i, Dim2: j}, a)
}

// Flip reverses the order of elements along the given axes.
func (a *Array) Flip(axes ...int) *Array { return apply1(opReverse, ReverseParams{Axis: axes}, a) }

// Pad adds elements before and after each axis. widths holds the numbers of elements before and
// after the first axis, before and after the second, and so on. mode is constant, edge or reflect;
// value is used by mode constant.
func (a *Array) Pad(mode string, value float64, widths ...int) *Array {
	return apply1(opPad, PadParams{Mode: mode, PadWidth: widths, ConstantValue: value}, a)
}

// Squeeze removes the given axes of extent one, all of them if none is given.
func (a *Array) Squeeze(axes ...int) *Array {
	return apply1(opSqueeze, SqueezeParams{Axis: axes}, a)
}

// BroadcastTo repeats axes of extent one to the extents dims; 0 keeps the extent of an axis.
func (a *Array) BroadcastTo(dims ...int) *Array {
	return apply1(opBroadcastTo, BroadcastToParams{Shape: dims}, a)
}

// BroadcastLike repeats axes of extent one up to the shape of b.
func (a *Array) BroadcastLike(b *Array) *Array {
	return apply1(opBroadcastLike, BroadcastLikeParams{}, a, b)
}

// BroadcastAxis repeats an axis of extent one n times.
func (a *Array) BroadcastAxis(axis, n int) *Array {
	return apply1(opBroadcastAxis, BroadcastAxisParams{Axis: []int{axis}, Size: []int{n}}, a)
}

// ReshapeLike returns a with the shape of b.
func (a *Array) ReshapeLike(b *Array) *Array {
	return apply1(opReshapeLike, ReshapeLikeParams{}, a, b)
}

// DepthToSpace moves groups of block² channels into blocks of height and width.
func (a *Array) DepthToSpace(block int) *Array {
	return apply1(opDepthToSpace, BlockParams{BlockSize: block}, a)
}

// SpaceToDepth moves blocks of block x block pixels into channels.
func (a *Array) SpaceToDepth(block int) *Array {
	return apply1(opSpaceToDepth, BlockParams{BlockSize: block}, a)
}

// ZerosLike returns zeros with the shape and element type of a.
func (a *Array) ZerosLike() *Array { return apply1(opZerosLike, op.NoParams{}, a) }

// OnesLike returns ones with the shape and element type of a.
func (a *Array) OnesLike() *Array { return apply1(opOnesLike, op.NoParams{}, a) }

// ShapeArray returns the extents of a as an array of int64.
func (a *Array) ShapeArray() *Array { return apply1(opShapeArray, op.NoParams{}, a) }

// SizeArray returns the number of elements of a as an array of int64.
func (a *Array) SizeArray() *Array { return apply1(opSizeArray, op.NoParams{}, a) }

// Rank returns the number of axes.
func (a *Array) Rank() int { return len(a.Shape()) }

// Arccos returns, element by element, the arccosine.
func (a *Array) Arccos() *Array { return unary(prim.Arccos, a) }

// Arccosh returns, element by element, the inverse hyperbolic cosine.
func (a *Array) Arccosh() *Array { return unary(prim.Arccosh, a) }

// Arcsin returns, element by element, the arcsine.
func (a *Array) Arcsin() *Array { return unary(prim.Arcsin, a) }

// Arcsinh returns, element by element, the inverse hyperbolic sine.
func (a *Array) Arcsinh() *Array { return unary(prim.Arcsinh, a) }

// Arctan returns, element by element, the arctangent.
func (a *Array) Arctan() *Array { return unary(prim.Arctan, a) }

// Arctanh returns, element by element, the inverse hyperbolic tangent.
func (a *Array) Arctanh() *Array { return unary(prim.Arctanh, a) }

// Cbrt returns, element by element, the cube root.
func (a *Array) Cbrt() *Array { return unary(prim.Cbrt, a) }

// Ceil returns, element by element, the least integer not below the element.
func (a *Array) Ceil() *Array { return unary(prim.Ceil, a) }

// Cos returns, element by element, the cosine.
func (a *Array) Cos() *Array { return unary(prim.Cos, a) }

// Cosh returns, element by element, the hyperbolic cosine.
func (a *Array) Cosh() *Array { return unary(prim.Cosh, a) }

// Degrees converts radians to degrees, element by element.
func (a *Array) Degrees() *Array { return unary(prim.Degrees, a) }

// Expm1 returns, element by element, the exponential minus one.
func (a *Array) Expm1() *Array { return unary(prim.Expm1, a) }

// Fix returns, element by element, the nearest integer towards zero.
func (a *Array) Fix() *Array { return unary(prim.Fix, a) }

// Floor returns, element by element, the greatest integer not above the element.
func (a *Array) Floor() *Array { return unary(prim.Floor, a) }

// Log10 returns, element by element, the logarithm to base 10.
func (a *Array) Log10() *Array { return unary(prim.Log10, a) }

// Log1p returns, element by element, the logarithm of one plus the element.
func (a *Array) Log1p() *Array { return unary(prim.Log1p, a) }

// Log2 returns, element by element, the logarithm to base 2.
func (a *Array) Log2() *Array { return unary(prim.Log2, a) }

// Radians converts degrees to radians, element by element.
func (a *Array) Radians() *Array { return unary(prim.Radians, a) }

// Rcbrt returns, element by element, the reciprocal of the cube root.
func (a *Array) Rcbrt() *Array { return unary(prim.Rcbrt, a) }

// Reciprocal returns, element by element, the reciprocal.
func (a *Array) Reciprocal() *Array { return unary(prim.Reciprocal, a) }

// Rint returns, element by element, the nearest integer; halves are rounded down.
func (a *Array) Rint() *Array { return unary(prim.Rint, a) }

// Round returns, element by element, the nearest integer; halves are rounded away from zero.
func (a *Array) Round() *Array { return unary(prim.Round, a) }

// Rsqrt returns, element by element, the reciprocal of the square root.
func (a *Array) Rsqrt() *Array { return unary(prim.Rsqrt, a) }

// Sin returns, element by element, the sine.
func (a *Array) Sin() *Array { return unary(prim.Sin, a) }

// Sinh returns, element by element, the hyperbolic sine.
func (a *Array) Sinh() *Array { return unary(prim.Sinh, a) }

// Tan returns, element by element, the tangent.
func (a *Array) Tan() *Array { return unary(prim.Tan, a) }

// Trunc returns, element by element, the nearest integer towards zero.
func (a *Array) Trunc() *Array { return unary(prim.Trunc, a) }
