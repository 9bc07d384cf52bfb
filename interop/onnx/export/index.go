package export

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/index"
)

// indexRules are operators that look elements up, and that search and sort.
var indexRules = rules{
	index.Take.Op: on(take), index.Embedding.Op: on(embedding),
	index.SparseEmbedding.Op: on(func(c *call, p index.SparseEmbeddingParams) []value {
		return embedding(c, index.EmbeddingParams{InputDim: p.InputDim})
	}),
	index.Pick.Op: on(pick), index.BatchTake.Op: batchTake, index.OneHot.Op: on(oneHot),
	index.GatherND.Op: gatherND, index.ScatterND.Op: on(scatterND),
	index.ScatterSetND.Op: on(scatterSetND), index.IndexCopy.Op: indexCopy,
	index.ArgMax.Op: on(func(c *call, p index.ArgParams) []value { return argument(c, p, "ArgMax") }),
	index.ArgMin.Op: on(func(c *call, p index.ArgParams) []value { return argument(c, p, "ArgMin") }),
	index.ArgMaxChannel.Op: func(c *call) []value {
		return argument(c, index.ArgParams{Axis: op.Some(1)}, "ArgMax")
	},
	index.Sort.Op: on(sort), index.ArgSort.Op: on(argSort), index.TopK.Op: on(topK),
	index.RavelMultiIndex.Op: on(ravel), index.UnravelIndex.Op: on(unravel),
}

// indexReasons are operators whose results have no shape before they run.
var indexReasons = map[*op.Op]string{
	index.BooleanMask.Op: "the shape of its output depends on values",
}

// within brings indices into the range of an axis of extent n.
func (c *call) within(ids value, n int, mode string) value {
	ids = c.cast(ids, dtype.Int64)
	switch mode {
	case "clip":
		ids = c.binary("Max", ids, c.scalar(dtype.Int64, 0))
		return c.binary("Min", ids, c.scalar(dtype.Int64, float64(n-1)))
	case "wrap":
		return c.binary("Mod", ids, c.scalar(dtype.Int64, float64(n)), num("fmod", 0))
	}
	return ids
}

func take(c *call, p index.TakeParams) []value {
	x := c.x(0)
	a := axis(p.Axis, len(x.shape))
	return one(c.gather(x, c.within(c.x(1), x.shape[a], p.Mode), a))
}

func embedding(c *call, p index.EmbeddingParams) []value {
	y := c.gather(c.x(1), c.within(c.x(0), p.InputDim, "clip"), 0)
	return one(c.cast(y, c.out(0).typ))
}

// elements takes one element of each line along an axis.
func (c *call) elements(x, ids value, a int) value {
	return c.add("GatherElements", ids.shape, x.typ, []value{x, ids}, num("axis", a))
}

func pick(c *call, p index.PickParams) []value {
	x := c.x(0)
	a, ok := p.Axis.Get()
	if !ok {
		return c.fail("an axis of None")
	}
	a = axis(a, len(x.shape))
	shape := x.shape.Clone()
	shape[a] = 1
	ids := c.within(c.reshape(c.x(1), shape), x.shape[a], p.Mode)
	return one(c.reshape(c.elements(x, ids, a), c.out(0).shape))
}

func batchTake(c *call) []value {
	x := c.x(0)
	ids := c.within(c.reshape(c.x(1), dtype.Shape{x.shape[0], 1}), x.shape[1], "clip")
	return one(c.reshape(c.elements(x, ids, 1), c.out(0).shape))
}

// oneHot compares: ONNX's OneHot counts negative indices from the end.
func oneHot(c *call, p index.OneHotParams) []value {
	ids, t := c.cast(c.x(0), dtype.Int64), c.out(0).typ
	rank := len(ids.shape)
	ids = c.reshape(ids, append(ids.shape.Clone(), 1))
	hit := c.test("Equal", ids, c.along(dtype.Int64, rank, rank+1, counting(p.Depth)...))
	return one(c.where(hit, c.scalar(t, p.OnValue.Value()), c.scalar(t, p.OffValue)))
}

// tuples puts the axis of MXNet's tuples of indices, the first one, at the end.
func (c *call) tuples(ids value) value {
	ids = c.cast(ids, dtype.Int64)
	return c.transpose(ids, append(upTo(1, len(ids.shape)), 0)...)
}

func gatherND(c *call) []value {
	x := c.x(0)
	return one(c.add("GatherND", c.out(0).shape, x.typ, []value{x, c.tuples(c.x(1))}))
}

func scatterND(c *call, p index.ScatterNDParams) []value {
	x := c.x(0)
	return one(c.scatter(c.filled(x.typ, c.out(0).shape, 0), c.tuples(c.x(1)), x))
}

func scatterSetND(c *call, _ index.ScatterNDParams) []value {
	return one(c.scatter(c.x(0), c.tuples(c.x(2)), c.x(1)))
}

func indexCopy(c *call) []value {
	ids := c.cast(c.x(1), dtype.Int64)
	return one(c.scatter(c.x(0), c.reshape(ids, dtype.Shape{ids.shape.Size(), 1}), c.x(2)))
}

// scatter writes slices of x at places.
func (c *call) scatter(x, at, slices value) value {
	return c.add("ScatterND", x.shape, x.typ, []value{x, at, slices})
}

// flatAxis flattens x where no axis is given.
func (c *call) flatAxis(x value, a op.Opt[int]) (value, int) {
	if v, ok := a.Get(); ok {
		return x, axis(v, len(x.shape))
	}
	return c.reshape(x, dtype.Shape{x.shape.Size()}), 0
}

func argument(c *call, p index.ArgParams, kind string) []value {
	x, a := c.flatAxis(c.x(0), p.Axis)
	x = c.cast(x, wide(x.typ))
	shape := slices.Delete(x.shape.Clone(), a, a+1)
	y := c.add(kind, shape, dtype.Int64, one(x), num("axis", a), num("keepdims", 0))
	return one(c.cast(c.reshape(y, c.out(0).shape), c.out(0).typ))
}

// top adds ONNX's TopK: equal elements keep their order.
func (c *call) top(x value, a, k int, largest bool) (values, ids value) {
	t := x.typ
	shape := x.shape.Clone()
	shape[a] = k
	x = c.cast(x, wide(t))
	flag := 0
	if largest {
		flag = 1
	}
	made := c.nodes("TopK", []value{x, c.indices(k)}, []value{{"", shape, x.typ},
		{"", shape, dtype.Int64}}, num("axis", a), num("largest", flag), num("sorted", 1))
	return c.cast(made[0], t), made[1]
}

func sort(c *call, p index.SortParams) []value {
	x, a := c.flatAxis(c.x(0), p.Axis)
	values, _ := c.top(x, a, x.shape[a], p.Descend)
	return one(c.reshape(values, c.out(0).shape))
}

func argSort(c *call, p index.ArgSortParams) []value {
	x, a := c.flatAxis(c.x(0), p.Axis)
	_, ids := c.top(x, a, x.shape[a], p.Descend)
	return one(c.cast(c.reshape(ids, c.out(0).shape), c.out(0).typ))
}

func topK(c *call, p index.TopKParams) []value {
	x, a := c.flatAxis(c.x(0), p.Axis)
	k := p.K.Value()
	if k == 0 {
		k = x.shape[a]
	}
	values, ids := c.top(x, a, k, !p.IsAscend)
	switch p.RetTyp {
	case "value":
		return one(c.reshape(values, c.out(0).shape))
	case "both":
		return []value{c.reshape(values, c.out(0).shape),
			c.cast(c.reshape(ids, c.out(1).shape), c.out(1).typ)}
	case "mask":
		marks := c.add("ScatterElements", x.shape, x.typ, []value{c.filled(x.typ, x.shape, 0), ids,
			c.filled(x.typ, ids.shape, 1)}, num("axis", a))
		return one(c.reshape(marks, c.out(0).shape))
	}
	return one(c.cast(c.reshape(ids, c.out(0).shape), c.out(0).typ))
}

// places are the strides of a shape along the first axis of an array of rank axes.
func (c *call) places(shape []int, list []int, rank int) value {
	numbers := make([]float64, len(shape))
	for i, v := range list {
		numbers[i] = float64(v)
	}
	return c.along(dtype.Int64, 0, rank, numbers...)
}

func ravel(c *call, p index.RavelParams) []value {
	x := c.x(0)
	strides := c.places(p.Shape, dtype.Shape(p.Shape).Strides(), len(x.shape))
	sum := c.reduce("ReduceSum", c.times(c.cast(x, dtype.Int64), strides), []int{0}, false)
	return one(c.cast(c.reshape(sum, c.out(0).shape), c.out(0).typ))
}

func unravel(c *call, p index.RavelParams) []value {
	x := c.cast(c.x(0), dtype.Int64)
	x = c.reshape(x, append(dtype.Shape{1}, x.shape...))
	strides := c.places(p.Shape, dtype.Shape(p.Shape).Strides(), len(x.shape))
	extents := c.places(p.Shape, p.Shape, len(x.shape))
	y := c.binary("Mod", c.over(x, strides), extents, num("fmod", 0))
	return one(c.cast(c.reshape(y, c.out(0).shape), c.out(0).typ))
}
