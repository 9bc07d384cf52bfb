package export

import (
	"math"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/linalg"
	"gomx/op/prim"
	"gomx/op/tensor"
)

// moveRules are operators that move elements.
var moveRules = rules{
	prim.Transpose.Op: on(transposed), prim.SwapAxis.Op: on(swapped),
	prim.Slice.Op: on(sliced), prim.SliceAxis.Op: on(slicedAxis), prim.SliceLike.Op: slicedLike,
	prim.SliceAssign.Op: on(assigned), prim.SliceAssignScalar.Op: on(assignedNumber),
	prim.SliceChannel.Op: on(func(c *call, p prim.SliceChannelParams) []value {
		return c.parts(p.Axis.Value(), p.NumOutputs, nil)
	}),
	prim.SplitV2.Op: on(func(c *call, p prim.SplitV2Params) []value {
		return c.parts(p.Axis.Value(), p.Sections, p.Indices)
	}),
	prim.Concat.Op: on(joined), prim.RNNParamConcat.Op: on(joined), prim.Stack.Op: on(stacked),
	prim.Tile.Op: on(tiled), prim.Repeat.Op: on(repeated), prim.Reverse.Op: on(reversed),
	prim.Where.Op: where, prim.Clip.Op: on(clipped),
	tensor.Diag.Op: computedMove, tensor.CumSum.Op: on(cumSum),
	linalg.ExtractDiag.Op: computedMove, linalg.MakeDiag.Op: computedMove,
	linalg.ExtractTrian.Op: computedMove, linalg.MakeTrian.Op: computedMove,
}

func transposed(c *call, p prim.TransposeParams) []value {
	x := c.x(0)
	rank := len(x.shape)
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = rank - 1 - i
		if len(p.Axes) > 0 {
			perm[i] = axis(p.Axes[i], rank)
		}
	}
	return one(c.transpose(x, perm...))
}

func swapped(c *call, p prim.SwapAxisParams) []value {
	x := c.x(0)
	perm := upTo(0, len(x.shape))
	a, b := axis(p.Dim1, len(perm)), axis(p.Dim2, len(perm))
	perm[a], perm[b] = b, a
	return one(c.transpose(x, perm...))
}

// sliced is ONNX's Slice, where numbers far outside mean the ends.
func sliced(c *call, p prim.SliceParams) []value {
	x := c.x(0)
	var from, to, axes, steps []int
	for i := range max(len(p.Begin), len(p.End)) {
		by, b, e := 1, 0, math.MaxInt32
		if i < len(p.Step) {
			by = p.Step[i].Or(1)
		}
		if by < 0 {
			b, e = math.MaxInt32, math.MinInt32
		}
		if i < len(p.Begin) {
			b = p.Begin[i].Or(b)
		}
		if i < len(p.End) {
			e = p.End[i].Or(e)
		}
		from, to, axes, steps = append(from, b), append(to, e), append(axes, i), append(steps, by)
	}
	return one(c.add("Slice", c.out(0).shape, x.typ, []value{x, c.indices(from...),
		c.indices(to...), c.indices(axes...), c.indices(steps...)}))
}

func slicedAxis(c *call, p prim.SliceAxisParams) []value {
	x := c.x(0)
	a := axis(p.Axis, len(x.shape))
	d := x.shape[a]
	from, to := p.Begin, p.End.Or(d)
	if from < 0 {
		from += d
	}
	if to < 0 {
		to += d
	}
	return one(c.slice(x, a, from, to, 1))
}

func slicedLike(c *call) []value {
	x := c.x(0)
	for a, n := range c.out(0).shape {
		x = c.slice(x, a, 0, n, 1)
	}
	return one(x)
}

func assigned(c *call, p prim.SliceParams) []value {
	x := c.x(0)
	return one(c.scatterFlat(x, windowIndices(x.shape, p.Begin, p.End, p.Step), c.x(1)))
}

func assignedNumber(c *call, p prim.SliceAssignScalarParams) []value {
	x := c.x(0)
	ids := windowIndices(x.shape, p.Begin, p.End, p.Step)
	return one(c.scatterFlat(x, ids, c.filled(x.typ, dtype.Shape{len(ids)}, p.Scalar)))
}

// parts cuts an axis into equal parts, or where parts begin.
func (c *call) parts(a, equal int, begins []int) []value {
	x := c.x(0)
	a = axis(a, len(x.shape))
	n := len(c.outs)
	extents := make([]int, n)
	for i := range extents {
		switch {
		case equal > 0:
			extents[i] = x.shape[a] / n
		case i+1 < n:
			extents[i] = begins[i+1] - begins[i]
		default:
			extents[i] = x.shape[a] - begins[i]
		}
	}
	if equal == 0 && n > 0 && begins[0] > 0 {
		x = c.slice(x, a, begins[0], x.shape[a], 1)
	}
	list := c.split(x, a, extents...)
	for i, v := range list {
		list[i] = c.reshape(v, c.out(i).shape)
	}
	return list
}

func joined(c *call, p prim.ConcatParams) []value {
	list := c.all()
	return one(c.concat(axis(p.Dim.Value(), len(list[0].shape)), list...))
}

func stacked(c *call, p prim.StackParams) []value {
	list := c.all()
	a := axis(p.Axis, len(list[0].shape)+1)
	for i, v := range list {
		list[i] = c.reshape(v, slices.Insert(v.shape.Clone(), a, 1))
	}
	return one(c.concat(a, list...))
}

func tiled(c *call, p prim.TileParams) []value {
	x, out := c.x(0), c.out(0).shape
	wide := x.shape.Clone()
	for len(wide) < len(out) {
		wide = slices.Insert(wide, 0, 1)
	}
	x = c.reshape(x, wide)
	reps := make([]int, len(out))
	for i := range reps {
		reps[i] = 1
		if k := i - len(out) + len(p.Reps); k >= 0 {
			reps[i] = p.Reps[k]
		}
	}
	return one(c.add("Tile", out, x.typ, []value{x, c.indices(reps...)}))
}

// repeated puts an axis behind that which repeats, and joins the two.
func repeated(c *call, p prim.RepeatParams) []value {
	x := c.x(0)
	a, ok := p.Axis.Get()
	if !ok {
		x, a = c.reshape(x, dtype.Shape{x.shape.Size()}), 0
	}
	a = axis(a, len(x.shape))
	wide := slices.Insert(x.shape.Clone(), a+1, 1)
	copies := wide.Clone()
	copies[a+1] = p.Repeats
	return one(c.reshape(c.expand(c.reshape(x, wide), copies), c.out(0).shape))
}

func reversed(c *call, p prim.ReverseParams) []value {
	x := c.x(0)
	for _, a := range p.Axis {
		x = c.flip(x, axis(a, len(x.shape)))
	}
	return one(x)
}

// where has a condition of the shape of the others, or one that chooses along their first axis.
func where(c *call) []value {
	cond, a, b := c.truth(c.x(0)), c.x(1), c.x(2)
	if !cond.shape.Equal(a.shape) {
		cond = c.perChannel(cond, 0, len(a.shape))
	}
	return one(c.where(cond, a, b))
}

// clipped limits in a type that runtimes compare.
func clipped(c *call, p prim.ClipParams) []value {
	x := c.x(0)
	t := wide(x.typ)
	y := c.cast(x, t)
	if t.IsFloat() {
		y = c.add("Clip", x.shape, t, []value{y, c.scalar(t, p.AMin), c.scalar(t, p.AMax)})
	} else {
		low, high := limits(x.typ, p.AMin, p.AMax)
		y = c.binary("Min", c.binary("Max", y, c.scalar(t, low)), c.scalar(t, high))
	}
	return one(c.cast(y, x.typ))
}

// limits cuts the bounds off to integers that the type can hold.
func limits(t dtype.Type, low, high float64) (float64, float64) {
	bits := 8 * t.Size()
	least, most := -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
	switch t {
	case dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64:
		least, most = 0, math.Ldexp(1, bits)-1
	case dtype.Bool:
		least, most = 0, 1
	}
	cut := func(v float64) float64 { return math.Trunc(min(max(v, least), most)) }
	return cut(low), cut(high)
}

func cumSum(c *call, p tensor.CumSumParams) []value {
	x := c.x(0)
	t := c.out(0).typ
	a, ok := p.Axis.Get()
	if !ok {
		x, a = c.reshape(x, dtype.Shape{x.shape.Size()}), 0
	}
	x = c.cast(c.cast(x, t), wide(t))
	y := c.add("CumSum", x.shape, x.typ, []value{x, c.scalar(dtype.Int64,
		float64(axis(a, len(x.shape))))})
	return one(c.cast(y, t))
}

// computedMove asks gomx where each element of the output comes from: the operator moves the
// numbers 1, 2, …, and zeros stay zero.
func computedMove(c *call) []value {
	x := c.x(0)
	ids, err := movedBy(c.node, x.shape)
	if err != nil {
		return c.fail("%v", err)
	}
	zero := x.shape.Size()
	padded := slices.Contains(ids, -1)
	for i, id := range ids {
		if id < 0 {
			ids[i] = zero
		}
	}
	if padded {
		x = c.withZero(x)
	}
	return one(c.pickFlat(x, ids, c.out(0).shape))
}

// movedBy returns the place in the flattened input from which each element of the output comes, -1
// for a zero.
func movedBy(n *op.Node, shape dtype.Shape) ([]int, error) {
	list := make([]float64, shape.Size())
	for i := range list {
		list[i] = float64(i + 1)
	}
	moved, err := evaluate(n, nd.FromSlice(list, shape...))
	ids := make([]int, len(moved))
	for i, v := range moved {
		ids[i] = int(v) - 1
	}
	return ids, err
}
