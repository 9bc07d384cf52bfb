package ndarray

import "gomx/op"

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
