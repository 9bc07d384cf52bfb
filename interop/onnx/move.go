package onnx

import (
	"math"
	"slices"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// moveRows are operators that cut, join and repeat arrays.
var moveRows = map[string]row{
	"Concat": {1, concat}, "Split": {1, split}, "Slice": {1, slice}, "Pad": {1, pad},
	"Tile": {2, tile}, "CenterCropPad": {2, centerCropPad}, "Trilu": {1, trilu},
	"DepthToSpace": {1, depthToSpace}, "SpaceToDepth": {1, spaceToDepth},
}

func concat(c *call) []*sym.Symbol {
	a := c.axis(c.num("axis", 1), c.in[0].rank())
	var parts []*sym.Symbol
	for i := range c.in {
		if s := c.x(i); !c.has(i) || c.in[i].rank() <= a || c.in[i].shape[a] > 0 {
			parts = append(parts, s)
		}
	}
	switch len(parts) {
	case 0:
		parts = append(parts, c.x(0))
		fallthrough
	case 1:
		return out(sym.Identity(parts[0]))
	}
	return out(sym.Concat(parts, sym.ConcatParams{Dim: sym.Some(a)}))
}

// cut takes a range of one axis.
func cut(s *sym.Symbol, axis, begin, end int) *sym.Symbol {
	return sym.SliceAxis(s, sym.SliceAxisParams{Axis: axis, Begin: begin, End: sym.Some(end)})
}

func split(c *call) []*sym.Symbol {
	v := c.in[0]
	a := c.axis(c.num("axis", 0), v.rank())
	sizes := c.nums("split")
	if c.has(1) {
		sizes = c.ints(1)
	}
	if c.err != nil {
		return nil
	}
	if sizes == nil {
		n := c.num("num_outputs", len(c.node.Output))
		if n < 1 || n > len(c.node.Output) {
			return c.fail("%d parts for %d outputs", n, len(c.node.Output))
		}
		most := (v.shape[a] + n - 1) / n
		for i := range n {
			sizes = append(sizes, max(0, min(most, v.shape[a]-i*most)))
		}
	}
	var parts []*sym.Symbol
	at := 0
	for _, n := range sizes {
		if n < 0 || n > v.shape[a]-at {
			return c.fail("parts of %v for the extent %d", sizes, v.shape[a])
		}
		parts = append(parts, cut(c.x(0), a, at, at+n))
		at += n
	}
	if at != v.shape[a] {
		return c.fail("parts of %v for the extent %d", sizes, v.shape[a])
	}
	return parts
}

// slice has attributes before opset 10, then inputs.
func slice(c *call) []*sym.Symbol {
	v := c.in[0]
	starts, ends, axes, steps := c.nums("starts"), c.nums("ends"), c.nums("axes"), []int(nil)
	if c.version >= 10 {
		starts, ends, axes, steps = c.ints(1), c.ints(2), c.ints(3), c.ints(4)
	}
	if c.err != nil {
		return nil
	}
	if len(ends) != len(starts) || axes != nil && len(axes) != len(starts) ||
		steps != nil && len(steps) != len(starts) || len(starts) > v.rank() {
		return c.fail("starts %v, ends %v, axes %v and steps %v, want one each per axis", starts,
			ends, axes, steps)
	}
	if axes == nil {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	axes = c.axes(axes, v.rank())
	s := c.x(0)
	for i, a := range axes {
		step := 1
		if steps != nil {
			step = steps[i]
		}
		if step == 0 {
			return c.fail("steps %v, want none of zero", steps)
		}
		s = c.sliceAxis(s, a, v.shape[a], bounds{starts[i], ends[i], step})
	}
	return out(sym.Identity(s))
}

// bounds is a range with a step; negative numbers count from the end.
type bounds struct{ start, end, step int }

// sliceAxis cuts one axis of extent n.
func (c *call) sliceAxis(s *sym.Symbol, axis, n int, b bounds) *sym.Symbol {
	low, high := 0, n
	if b.step < 0 {
		low, high = -1, n-1
	}
	place := func(i int) int {
		if i < 0 {
			i = max(i, math.MinInt/2) + n
		}
		return min(max(i, low), high)
	}
	start, end := place(b.start), place(b.end)
	if b.step == 1 {
		return cut(s, axis, start, max(start, end))
	}
	var list []int
	if b.step > 0 {
		for i := start; i < end; i += min(b.step, n+1) {
			list = append(list, i)
		}
	} else {
		for i := start; i > end; i += max(b.step, -n-1) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return cut(s, axis, 0, 0)
	}
	return c.take(s, axis, list)
}

// take selects positions of an axis, which are all inside.
func (c *call) take(s *sym.Symbol, axis int, list []int) *sym.Symbol {
	return sym.Take(s, c.indices(list), sym.TakeParams{Axis: axis})
}

func tile(c *call) []*sym.Symbol {
	reps := c.ints(1)
	if c.err != nil || !c.possible(reps) {
		return nil
	}
	if len(reps) != c.in[0].rank() {
		return c.fail("repeats %v, want one per axis of %v", reps, c.in[0].shape)
	}
	if len(reps) == 0 {
		c.scalar = true
		return out(sym.Identity(c.x(0)))
	}
	if slices.Contains(reps, 0) {
		shape := c.in[0].shape.Clone()
		for i := range shape {
			shape[i] *= reps[i]
		}
		return out(c.empty(c.x(0), shape))
	}
	return out(sym.Tile(c.x(0), sym.TileParams{Reps: reps}))
}

// pad has pads as an attribute before opset 11; negative ones cut.
func pad(c *call) []*sym.Symbol {
	v := c.in[0]
	pads, value := c.nums("pads"), c.float("value", 0)
	if c.version >= 11 {
		pads = c.ints(1)
		if c.has(2) {
			if list := c.reals(2); len(list) == 1 {
				value = list[0]
			}
		}
	}
	axes := c.ints(3)
	if c.err != nil {
		return nil
	}
	if axes == nil {
		for i := range v.rank() {
			axes = append(axes, i)
		}
	}
	axes = c.axes(axes, v.rank())
	if len(pads) != 2*len(axes) {
		return c.fail("%d pads, want %d", len(pads), 2*len(axes))
	}
	before, after := make([]int, v.rank()), make([]int, v.rank())
	for i, a := range axes {
		before[a], after[a] = pads[i], pads[len(axes)+i]
	}
	mode := c.text("mode", "constant")
	s := c.x(0)
	for a := range v.rank() {
		s = c.padAxis(s, padding{mode, a, before[a], after[a], value})
	}
	c.scalar = v.rank() == 0
	return out(sym.Identity(s))
}

// padding describes the elements added to both ends of an axis.
type padding struct {
	mode          string
	axis          int
	before, after int // elements; negative: cut
	value         float64
}

// padAxis pads one axis.
func (c *call) padAxis(s *sym.Symbol, p padding) *sym.Symbol {
	shape := c.shapeOf(s)
	if c.err != nil || p.before == 0 && p.after == 0 {
		return s
	}
	n := shape[p.axis]
	long := shape.Clone()
	const most = 1 << 32
	if p.before > most || p.after > most || p.before < -most || p.after < -most {
		c.fail("pads of %d and %d are too large", p.before, p.after)
		return s
	}
	long[p.axis] = n + p.before + p.after
	if long[p.axis] < 0 || !c.possible(long) {
		c.fail("pads of %d and %d for the extent %d", p.before, p.after, n)
		return s
	}
	if p.mode == "constant" {
		return padConstant(c, s, p, shape)
	}
	if n == 0 || long[p.axis] > 1<<24 {
		c.fail("pads of %d and %d by elements of an axis of extent %d", p.before, p.after, n)
		return s
	}
	list := make([]int, long[p.axis])
	for i := range list {
		list[i] = mirror(p.mode, i-p.before, n)
		if list[i] < 0 {
			c.fail("mode %q is unknown", p.mode)
			return s
		}
	}
	return c.take(s, p.axis, list)
}

// mirror finds the element that stands for position i of an axis of extent n; -1: unknown mode.
func mirror(mode string, i, n int) int {
	switch mode {
	case "edge":
		return min(max(i, 0), n-1)
	case "wrap":
		return ((i % n) + n) % n
	case "reflect":
		if n == 1 {
			return 0
		}
		period := 2 * (n - 1)
		i = ((i % period) + period) % period
		return min(i, period-i)
	}
	return -1
}

// padConstant joins blocks of one value to an axis.
func padConstant(c *call, s *sym.Symbol, p padding, shape dtype.Shape) *sym.Symbol {
	typ := c.fact(s).typ
	begin, end := max(0, -p.before), shape[p.axis]-max(0, -p.after)
	if begin > 0 || end < shape[p.axis] {
		if begin > end {
			c.fail("pads of %d and %d for the extent %d", p.before, p.after, shape[p.axis])
			return s
		}
		s = cut(s, p.axis, begin, end)
	}
	block := func(n int) *sym.Symbol {
		long := shape.Clone()
		long[p.axis] = n
		return c.filled(long, p.value, typ)
	}
	var parts []*sym.Symbol
	if p.before > 0 {
		parts = append(parts, block(p.before))
	}
	if begin < end {
		parts = append(parts, s)
	}
	if p.after > 0 {
		parts = append(parts, block(p.after))
	}
	switch len(parts) {
	case 0:
		return s
	case 1:
		return parts[0]
	}
	return sym.Concat(parts, sym.ConcatParams{Dim: sym.Some(p.axis)})
}

// filled makes an array of one value.
func (c *call) filled(shape dtype.Shape, v float64, t dtype.Type) *sym.Symbol {
	if shape.Size() == 0 {
		return c.constant(nd.Empty(shape, nd.As(t)))
	}
	return c.expand(c.numbers(t, []float64{v}), shape)
}

func centerCropPad(c *call) []*sym.Symbol {
	v, want, axes := c.in[0], c.ints(1), c.nums("axes")
	if axes == nil {
		for i := range v.rank() {
			axes = append(axes, i)
		}
	}
	axes = c.axes(axes, v.rank())
	if c.err != nil || !c.possible(want) {
		return nil
	}
	if len(want) != len(axes) {
		return c.fail("%d extents, want %d", len(want), len(axes))
	}
	s := c.x(0)
	for i, a := range axes {
		n := v.shape[a]
		if want[i] <= n {
			begin := (n - want[i]) / 2
			s = cut(s, a, begin, begin+want[i])
			continue
		}
		before := (want[i] - n) / 2
		s = c.padAxis(s, padding{"constant", a, before, want[i] - n - before, 0})
	}
	return out(sym.Identity(s))
}

// trilu keeps a triangle of matrices: a choice by a constant mask.
func trilu(c *call) []*sym.Symbol {
	v, k := c.in[0], 0
	if c.has(1) {
		if list := c.ints(1); len(list) == 1 {
			k = list[0]
		}
	}
	if c.err != nil {
		return nil
	}
	if v.rank() < 2 {
		return c.fail("shape %v, want at least two axes", v.shape)
	}
	rows, cols := v.shape[v.rank()-2], v.shape[v.rank()-1]
	if rows*cols == 0 {
		return out(sym.Identity(c.x(0)))
	}
	if rows > 1<<24/cols {
		return c.fail("a triangle of %d x %d is too large", rows, cols)
	}
	upper := c.num("upper", 1) != 0
	mask := make([]bool, rows*cols)
	for i := range rows {
		for j := range cols {
			mask[i*cols+j] = upper && j-i >= k || !upper && j-i <= k
		}
	}
	m := c.expand(c.constant(nd.FromSlice(mask, rows, cols)), v.shape)
	return out(sym.Where(m, c.x(0), sym.ZerosLike(c.x(0))))
}

// depthToSpace has two orders of the channels; gomx's operator has the first.
func depthToSpace(c *call) []*sym.Symbol {
	b, v := c.num("blocksize", 1), c.in[0]
	if v.rank() != 4 || b < 1 || b > 1<<15 || v.shape[1]%(b*b) != 0 {
		return c.fail("blocks of %d for the shape %v", b, v.shape)
	}
	if c.text("mode", "DCR") == "DCR" {
		return out(sym.DepthToSpace(c.x(0), sym.BlockParams{BlockSize: b}))
	}
	n, d, h, w := v.shape[0], v.shape[1]/(b*b), v.shape[2], v.shape[3]
	s := c.reshape(c.x(0), dtype.Shape{n, d, b, b, h, w})
	s = sym.Transpose(s, sym.TransposeParams{Axes: []int{0, 1, 4, 2, 5, 3}})
	return out(c.reshape(s, dtype.Shape{n, d, h * b, w * b}))
}

func spaceToDepth(c *call) []*sym.Symbol {
	return out(sym.SpaceToDepth(c.x(0), sym.BlockParams{BlockSize: c.num("blocksize", 1)}))
}
