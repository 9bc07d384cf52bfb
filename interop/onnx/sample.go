package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// sampleRows read arrays at places between their elements.
var sampleRows = map[string]row{
	"GridSample": {2, gridSample}, "AffineGrid": {2, affineGrid}, "RoiAlign": {3, roiAlign},
}

// tap is one element along an axis that a sample is interpolated from.
type tap struct {
	place  *sym.Symbol // its index, a whole number of the type of the coordinates
	weight *sym.Symbol // its share; nil: 1
}

// sampler says how coordinates along axes become elements.
type sampler struct {
	mode    string // nearest, linear or cubic
	padding string // zeros, border or reflection
	corners bool   // -1 and 1 are the centres of the outermost elements, not their borders
}

// gridSample interpolates data of shape (n, c, extents...) at the places of a grid of shape
// (n, extents of the output..., axes), whose coordinates go from -1 to 1, the last axis first.
func gridSample(c *call) []*sym.Symbol {
	data, grid := c.in[0], c.in[1]
	n := data.rank() - 2
	if n < 1 || n > 3 || grid.rank() != n+2 || grid.shape[n+1] != n ||
		grid.shape[0] != data.shape[0] || !grid.typ.IsFloat() || data.size() == 0 {
		return c.fail("data of shape %v and a grid of shape %v and type %v, want (n, c, 1 to 3 "+
			"extents) and (n, extents, number of axes) of floats", data.shape, grid.shape, grid.typ)
	}
	how := sampler{c.text("mode", "linear"), c.text("padding_mode", "zeros"),
		c.num("align_corners", 0) != 0}
	switch how.mode {
	case "bilinear":
		how.mode = "linear"
	case "bicubic":
		how.mode = "cubic"
	}
	if !slices.Contains([]string{"nearest", "linear", "cubic"}, how.mode) ||
		!slices.Contains([]string{"zeros", "border", "reflection"}, how.padding) {
		return c.fail("mode %q with padding_mode %q, want nearest, linear or cubic and zeros, "+
			"border or reflection", how.mode, how.padding)
	}
	places := grid.shape[1 : n+1].Size()
	axes := make([][]tap, n)
	for i := range axes {
		x := cut(c.reshape(c.x(1), dtype.Shape{grid.shape[0], places, n}), 2, n-1-i, n-i)
		axes[i] = how.taps(x, data.shape[2+i])
	}
	s := combine(c, c.x(0), data.shape, axes, nil)
	shape := slices.Concat(data.shape[:2], grid.shape[1:n+1])
	return out(c.reshape(sym.Transpose(s, sym.TransposeParams{Axes: []int{0, 2, 1}}), shape))
}

// taps finds the elements of an axis of extent d that samples at the coordinates x read.
func (h sampler) taps(x *sym.Symbol, d int) []tap {
	low, high := -0.5, float64(d)-0.5
	if h.corners {
		low, high = 0, float64(d)-1
	}
	x = plus(times(plus(x, 1), (high-low)/2), low)
	if h.mode == "nearest" {
		x = halfEven(x)
	}
	switch h.padding {
	case "border":
		outside := sym.BroadcastAdd(sym.LesserScalar(x, sym.ScalarParams{Scalar: low}),
			sym.GreaterScalar(x, sym.ScalarParams{Scalar: high}))
		x = sym.Where(outside, sym.Clip(x, sym.ClipParams{AMax: float64(d - 1)}), x)
	case "reflection":
		x = reflected(x, low, high)
	}
	var list []tap
	switch h.mode {
	case "nearest":
		list = []tap{{place: x}}
	case "linear":
		base := sym.Floor(x)
		t := sym.BroadcastSub(x, base)
		list = []tap{{base, sym.RMinusScalar(t, sym.ScalarParams{Scalar: 1})}, {plus(base, 1), t}}
	default:
		base := sym.Floor(x)
		list = cubic(base, sym.BroadcastSub(x, base))
	}
	for i := range list {
		list[i] = h.inside(list[i], d, low, high)
	}
	return list
}

// reflected mirrors numbers at low and at high until they lie between.
func reflected(x *sym.Symbol, low, high float64) *sym.Symbol {
	span := high - low
	if span <= 0 {
		return plus(times(x, 0), low)
	}
	way := sym.ModScalar(sym.Abs(plus(x, -low)), sym.ScalarParams{Scalar: 2 * span})
	return sym.RMinusScalar(sym.Abs(plus(way, -span)), sym.ScalarParams{Scalar: low + span})
}

// cubic weighs four elements by Keys' convolution with the parameter -0.75 (Keys 1981).
func cubic(base, t *sym.Symbol) []tap {
	const a = -0.75
	poly := func(x *sym.Symbol, k ...float64) *sym.Symbol {
		s := plus(times(x, k[0]), k[1])
		for _, v := range k[2:] {
			s = plus(sym.BroadcastMul(s, x), v)
		}
		return s
	}
	outer := func(x *sym.Symbol) *sym.Symbol { return poly(x, a, -5*a, 8*a, -4*a) }
	inner := func(x *sym.Symbol) *sym.Symbol { return poly(x, a+2, -(a + 3), 0, 1) }
	rest := func(v float64) *sym.Symbol {
		return sym.RMinusScalar(t, sym.ScalarParams{Scalar: v})
	}
	return []tap{{plus(base, -1), outer(plus(t, 1))}, {base, inner(t)},
		{plus(base, 1), inner(rest(1))}, {plus(base, 2), outer(rest(2))}}
}

// inside replaces an element outside of an axis of extent d, as the padding says.
func (h sampler) inside(t tap, d int, low, high float64) tap {
	switch h.padding {
	case "zeros":
		valid := sym.BroadcastMul(sym.GreaterEqualScalar(t.place, sym.ScalarParams{}),
			sym.LesserEqualScalar(t.place, sym.ScalarParams{Scalar: float64(d - 1)}))
		if t.weight == nil {
			t.weight = valid
		} else {
			t.weight = sym.BroadcastMul(t.weight, valid)
		}
	case "reflection":
		t.place = sym.Rint(reflected(t.place, low, high))
	}
	t.place = sym.BlockGrad(sym.Clip(t.place, sym.ClipParams{AMax: float64(d - 1)}))
	return t
}

// combine sums the elements of data of shape (n, c, extents...) at the combinations of the taps of
// the axes, which have shape (m, places, 1), to shape (m, places, c). The numbers of the images, of
// shape (m, 1, 1) and type int64, are those of the data if images is nil.
func combine(c *call, data *sym.Symbol, shape dtype.Shape, axes [][]tap,
	images *sym.Symbol) *sym.Symbol {
	inner := shape[2:].Size()
	table := c.reshape(sym.Transpose(c.reshape(data, dtype.Shape{shape[0], shape[1], inner}),
		sym.TransposeParams{Axes: []int{0, 2, 1}}), dtype.Shape{shape[0] * inner, shape[1]})
	typ := c.fact(data).typ
	if images == nil {
		list := make([]int, shape[0])
		for i := range list {
			list[i] = i
		}
		images = c.indices(list, len(list), 1, 1)
	}
	sum := (*sym.Symbol)(nil)
	eachCombination(axes, func(taps []tap) {
		at, weight := images, (*sym.Symbol)(nil)
		for i, t := range taps {
			at = sym.BroadcastAdd(times(at, float64(shape[2+i])), cast(t.place, dtype.Int64))
			switch {
			case t.weight == nil:
			case weight == nil:
				weight = t.weight
			default:
				weight = sym.BroadcastMul(weight, t.weight)
			}
		}
		k := c.shapeOf(at)
		s := sym.Take(table, c.reshape(at, k[:len(k)-1]), sym.TakeParams{})
		if weight != nil {
			s = sym.BroadcastMul(s, cast(weight, typ))
		}
		if sum == nil {
			sum = s
		} else {
			sum = sym.BroadcastAdd(sum, s)
		}
	})
	return sum
}

// eachCombination calls f with every choice of one tap per axis.
func eachCombination(axes [][]tap, f func(taps []tap)) {
	taps := make([]tap, len(axes))
	var visit func(i int)
	visit = func(i int) {
		if i == len(axes) {
			f(taps)
			return
		}
		for _, t := range axes[i] {
			taps[i] = t
			visit(i + 1)
		}
	}
	visit(0)
}

// affineGrid maps the coordinates of all places of an image by a matrix per image.
func affineGrid(c *call) []*sym.Symbol {
	theta, size := c.in[0], c.ints(1)
	if c.err != nil || !c.possible(size) {
		return nil
	}
	n := len(size) - 2
	if n < 1 || !theta.shape.Equal(dtype.Shape{size[0], n, n + 1}) {
		return c.fail("matrices of shape %v for the size %v, want (n, axes, axes + 1)", theta.shape,
			size)
	}
	places := dtype.Shape(size[2:])
	if !c.spend(places.Size() * (n + 1) * 8) {
		return nil
	}
	corners := c.num("align_corners", 0) != 0
	list := make([]float64, 0, places.Size()*(n+1))
	at := make([]int, n)
	for range places.Size() {
		for i := n - 1; i >= 0; i-- {
			list = append(list, coordinate(at[i], places[i], corners))
		}
		list = append(list, 1)
		for i := n - 1; i >= 0; i-- {
			if at[i]++; at[i] < places[i] {
				break
			}
			at[i] = 0
		}
	}
	base := c.numbers(theta.typ, list, places.Size(), n+1)
	s := sym.Dot(c.reshape(c.x(0), dtype.Shape{size[0] * n, n + 1}), base,
		sym.DotParams{TransposeB: true})
	s = c.reshape(s, dtype.Shape{size[0], n, places.Size()})
	s = sym.Transpose(s, sym.TransposeParams{Axes: []int{0, 2, 1}})
	return out(c.reshape(s, slices.Concat(dtype.Shape{size[0]}, places, dtype.Shape{n})))
}

// coordinate is the place of element i of n on a scale from -1 to 1.
func coordinate(i, n int, corners bool) float64 {
	if corners {
		return 2*float64(i)/float64(max(1, n-1)) - 1
	}
	return (2*float64(i)+1)/float64(n) - 1
}

// roiAlign averages samples over the parts of regions, or takes the greatest share of an element.
func roiAlign(c *call) []*sym.Symbol {
	data, rois, images := c.in[0], c.in[1], c.in[2]
	if data.rank() != 4 || rois.rank() != 2 || rois.shape[1] != 4 || images.rank() != 1 ||
		images.shape[0] != rois.shape[0] {
		return c.fail("data of shape %v, regions of shape %v and images of shape %v, want (n, c, h, "+
			"w), (r, 4) and (r)", data.shape, rois.shape, images.shape)
	}
	usual := "half_pixel"
	if c.version < 16 {
		usual = "output_half_pixel"
	}
	aligned := c.text("coordinate_transformation_mode", usual) == "half_pixel"
	p := sym.ROIAlignParams{Aligned: aligned, SpatialScale: c.float("spatial_scale", 1),
		PooledSize: []int{c.num("output_height", 1), c.num("output_width", 1)}}
	if n := c.num("sampling_ratio", 0); n > 0 {
		p.SampleRatio = sym.Some(n)
	}
	switch mode := c.text("mode", "avg"); mode {
	case "avg":
	case "max":
		return roiMax(c, p)
	default:
		return c.fail("mode %q, want avg or max", mode)
	}
	rows := sym.Concat([]*sym.Symbol{c.reshape(cast(c.x(2), rois.typ),
		dtype.Shape{rois.shape[0], 1}), c.x(1)}, sym.ConcatParams{Dim: sym.Some(1)})
	return out(sym.ROIAlign(c.x(0), rows, p))
}

// roiMax takes, over the samples of a part, the greatest share that an element has in a sample.
func roiMax(c *call, p sym.ROIAlignParams) []*sym.Symbol {
	data, count := c.in[0].shape, c.in[1].shape[0]
	n, ok := p.SampleRatio.Get()
	if !ok || n > 1<<6 || min(p.PooledSize[0], p.PooledSize[1]) < 1 ||
		max(p.PooledSize[0], p.PooledSize[1]) > 1<<10 {
		return c.fail("mode max with sampling_ratio %d and an output of %v, want a fixed number of "+
			"samples", c.num("sampling_ratio", 0), p.PooledSize)
	}
	regions := sym.MulScalar(c.x(1), sym.ScalarParams{Scalar: p.SpatialScale})
	if p.Aligned {
		regions = plus(regions, -0.5)
	}
	images := c.reshape(cast(c.x(2), dtype.Int64), dtype.Shape{count, 1, 1})
	parts := dtype.Shape(p.PooledSize)
	var most *sym.Symbol
	for sample := range n * n {
		at := [2]int{sample / n, sample % n}
		var axes [2][]tap
		var inside *sym.Symbol
		for i := range axes {
			x := roiPlaces(c, regions, i, parts, (float64(at[i])+0.5)/float64(n), p.Aligned)
			near := sym.ElemwiseMul(sym.GreaterEqualScalar(x, sym.ScalarParams{Scalar: -1}),
				sym.LesserEqualScalar(x, sym.ScalarParams{Scalar: float64(data[2+i])}))
			if inside == nil {
				inside = near
			} else {
				inside = sym.ElemwiseMul(inside, near)
			}
			axes[i] = clamped(x, data[2+i])
		}
		eachCombination(axes[:], func(taps []tap) {
			one := [][]tap{{taps[0]}, {taps[1]}}
			s := sym.BroadcastMul(combine(c, c.x(0), data, one, images),
				cast(inside, c.in[0].typ))
			if most == nil {
				most = s
			} else {
				most = sym.BroadcastMaximum(most, s)
			}
		})
	}
	shape := slices.Concat(dtype.Shape{count, data[1]}, parts)
	return out(c.reshape(sym.Transpose(most, sym.TransposeParams{Axes: []int{0, 2, 1}}), shape))
}

// roiPlaces returns the coordinates along an axis of the samples at a share of each part, of shape
// (regions, parts, 1). Axis 0 is that of the height.
func roiPlaces(c *call, regions *sym.Symbol, axis int, parts dtype.Shape, share float64,
	aligned bool) *sym.Symbol {
	begin := cut(regions, 1, 1-axis, 2-axis)
	size := sym.ElemwiseSub(cut(regions, 1, 3-axis, 4-axis), begin)
	if !aligned {
		size = atLeast(size, 1)
	}
	list := make([]float64, parts.Size())
	for i := range list {
		k := [2]int{i / parts[1], i % parts[1]}[axis]
		list[i] = (float64(k) + share) / float64(parts[axis])
	}
	x := sym.BroadcastAdd(begin, sym.BroadcastMul(size, c.numbers(c.in[1].typ, list, 1, len(list))))
	return c.reshape(x, dtype.Shape{c.in[1].shape[0], len(list), 1})
}

// clamped weighs the two elements beside places of an axis of extent d; places outside of the
// centres of the outermost elements are moved there.
func clamped(x *sym.Symbol, d int) []tap {
	x = sym.Clip(x, sym.ClipParams{AMax: float64(d - 1)})
	base := sym.BlockGrad(sym.Floor(x))
	t := sym.ElemwiseSub(x, base)
	return []tap{{base, sym.RMinusScalar(t, sym.ScalarParams{Scalar: 1})},
		{atMost(plus(base, 1), float64(d-1)), t}}
}
