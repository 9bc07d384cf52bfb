package ndarray

import "gomx/op"

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
