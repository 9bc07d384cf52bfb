package onnx

import (
	"math"
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// poolRows are poolings.
var poolRows = map[string]row{
	"MaxPool": {1, maxPool}, "AveragePool": {1, averagePool}, "LpPool": {1, lpPool},
	"GlobalMaxPool":     {1, globalPool("max")},
	"GlobalAveragePool": {1, globalPool("avg")},
	"MaxUnpool":         {2, maxUnpool},
}

func globalPool(kind string) importer {
	return func(c *call) []*sym.Symbol {
		v := c.in[0]
		if v.rank() < 3 {
			return c.fail("shape %v, want at least three axes", v.shape)
		}
		var axes []int
		for i := 2; i < v.rank(); i++ {
			axes = append(axes, i)
		}
		p := sym.ReduceParams{Axis: axes, KeepDims: true}
		if kind == "max" {
			return out(sym.Max(c.x(0), p))
		}
		return out(sym.Mean(c.x(0), p))
	}
}

// extents returns the extents of the output of a pooling, and the padding at the end with which
// windows at the natural extents cover them. Windows that begin in the padding at the end do not
// count.
func (w *win) extents(data []int) (outs, after []int) {
	for i, d := range data {
		room := d + w.before[i] + w.after[i] - w.span(i)
		n := room/w.stride[i] + 1
		if w.ceil && room%w.stride[i] != 0 && n*w.stride[i] < d+w.before[i] {
			n++
		}
		if room < 0 {
			n = 0
		}
		outs = append(outs, n)
		after = append(after, max(0, (n-1)*w.stride[i]+w.span(i)-d-w.before[i]))
	}
	return outs, after
}

// pooled prepares a pooling: the window and the extents of the output.
func pooled(c *call) (w win, outs, after []int) {
	v := c.in[0]
	if v.rank() < 3 {
		c.fail("shape %v, want at least three axes", v.shape)
		return w, nil, nil
	}
	if w = window(c, v.shape, nil); c.err != nil {
		return w, nil, nil
	}
	auto(c, &w, v.shape[2:])
	outs, after = w.extents(v.shape[2:])
	if len(outs) > 0 && slices.Min(outs) < 1 {
		c.fail("the window %v is larger than the data of shape %v", w.kernel, v.shape)
	}
	return w, outs, after
}

// simple reports whether gomx's pooling has the window as it is.
func (w *win) simple(c *call, after []int) bool {
	return slices.Max(w.dilation) == 1 && slices.Equal(w.before, w.after) && !w.ceil &&
		len(w.kernel) <= 3 && c.in[0].typ == dtype.Float32
}

// covers finds the convention by which gomx's pooling, with the padding before the data on both
// sides, has the extents of the output; "" where none does. Its windows are then the same ones, as
// long as padding does not count.
func (w *win) covers(c *call, outs []int) string {
	if slices.Max(w.dilation) != 1 || len(w.kernel) > 3 || c.in[0].typ != dtype.Float32 {
		return ""
	}
	valid, full := true, true
	for i, n := range outs {
		room := c.in[0].shape[2+i] + 2*w.before[i] - w.kernel[i]
		if room < 0 || w.before[i] >= w.kernel[i] {
			return ""
		}
		valid = valid && n == room/w.stride[i]+1
		full = full && n == (room+w.stride[i]-1)/w.stride[i]+1
	}
	switch {
	case valid:
		return "valid"
	case full:
		return "full"
	}
	return ""
}

// params are the parameters of a pooling of gomx.
func (w *win) params(kind string) sym.PoolingParams {
	return sym.PoolingParams{Kernel: w.kernel, Stride: w.stride, Pad: w.before, PoolType: kind}
}

func maxPool(c *call) []*sym.Symbol {
	w, outs, after := pooled(c)
	if c.err != nil {
		return nil
	}
	low := math.Inf(-1)
	switch t := c.in[0].typ; {
	case t == dtype.Int8:
		low = math.MinInt8
	case !t.IsFloat():
		low = 0
	}
	if c.wanted() > 1 {
		return maxIndices(c, w, outs)
	}
	if w.simple(c, after) {
		if s := codedMaxPool(c, w); s != nil || c.err != nil {
			return out(s)
		}
		return out(sym.Pooling(c.x(0), w.params("max")))
	}
	if name := w.covers(c, outs); name != "" {
		p := w.params("max")
		p.PoolingConvention = name
		return out(sym.Pooling(c.x(0), p))
	}
	return out(windows(c, c.x(0), w, outs, after, low, sym.BroadcastMaximum))
}

// windows joins the shifted copies of the data that a window reads by a function of two arrays.
func windows(c *call, s *sym.Symbol, w win, outs, after []int, value float64,
	join func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol) *sym.Symbol {
	for i := range outs {
		s = c.padAxis(s, padding{"constant", i + 2, w.before[i], after[i], value})
	}
	for i := range outs {
		if w.kernel[i] > 1<<10 {
			c.fail("a window of extents %v is too large", w.kernel)
			return s
		}
		var joined *sym.Symbol
		for k := range w.kernel[i] {
			at := k * w.dilation[i]
			part := c.sliceAxis(s, i+2, math.MaxInt32, bounds{at, at + (outs[i]-1)*w.stride[i] + 1,
				w.stride[i]})
			if joined == nil {
				joined = part
			} else {
				joined = join(joined, part)
			}
		}
		s = joined
	}
	return s
}

// averagePool divides sums of windows by the number of their elements.
func averagePool(c *call) []*sym.Symbol {
	w, outs, after := pooled(c)
	if c.err != nil {
		return nil
	}
	include := c.num("count_include_pad", 0) != 0
	if w.simple(c, after) {
		p := w.params("avg")
		p.CountIncludePad = sym.Some(include)
		return out(sym.Pooling(c.x(0), p))
	}
	if name := w.covers(c, outs); name != "" && !include {
		p := w.params("avg")
		p.CountIncludePad, p.PoolingConvention = sym.Some(false), name
		return out(sym.Pooling(c.x(0), p))
	}
	sum := windows(c, c.x(0), w, outs, after, 0, sym.BroadcastAdd)
	for i, n := range outs {
		counts := make([]float64, n)
		for o := range counts {
			counts[o] = float64(w.count(o, i, c.in[0].shape[2+i], include))
		}
		ruler := make([]int, len(outs)+2)
		for k := range ruler {
			ruler[k] = 1
		}
		ruler[2+i] = n
		sum = sym.BroadcastDiv(sum, c.numbers(c.in[0].typ, counts, ruler...))
	}
	return out(sum)
}

// count returns the number of elements of window o on axis i of extent d that count for its mean.
func (w *win) count(o, i, d int, include bool) int {
	low, high := 0, d
	if include {
		low, high = -w.before[i], d+w.after[i]
	}
	n := 0
	for k := range w.kernel[i] {
		if at := o*w.stride[i] - w.before[i] + k*w.dilation[i]; at >= low && at < high {
			n++
		}
	}
	return max(n, 1)
}

// lpPool is a root of sums of powers.
func lpPool(c *call) []*sym.Symbol {
	w, outs, after := pooled(c)
	p := float64(c.num("p", 2))
	if c.err != nil {
		return nil
	}
	s := windows(c, power(sym.Abs(c.x(0)), p), w, outs, after, 0, sym.BroadcastAdd)
	return out(power(s, 1/p))
}

// maxIndices computes a maximum and its place in the flat data. It reads all elements of all
// windows by a table; elements outside of the data repeat the first one inside.
func maxIndices(c *call, w win, outs []int) []*sym.Symbol {
	v := c.in[0]
	extents := v.shape[2:]
	windows, places := dtype.Shape(outs).Size(), dtype.Shape(w.kernel).Size()
	if !c.spend(8 * windows * places) {
		return nil
	}
	table := make([]int, 0, windows*places)
	for o := range windows {
		table = append(table, w.elements(extents, outs, o)...)
	}
	planes, size := v.shape[0]*v.shape[1], extents.Size()
	s := sym.Take(c.reshape(c.x(0), dtype.Shape{planes, size}), c.indices(table, windows, places),
		sym.TakeParams{Axis: 1})
	which := cast(sym.ArgMax(sym.BlockGrad(s), sym.ArgParams{Axis: sym.Some(2), KeepDims: true}),
		dtype.Int64)
	pick := func(s, at *sym.Symbol) *sym.Symbol {
		return sym.Pick(s, at, sym.PickParams{Axis: sym.Some(2)})
	}
	shape := slices.Concat(v.shape[:2], dtype.Shape(outs))
	at := c.expand(c.indices(w.order(c, table, extents), 1, windows, places),
		dtype.Shape{planes, windows, places})
	flat := c.reshape(which, dtype.Shape{planes, windows})
	first := make([]int, planes)
	for i := range first {
		first[i] = i * size
	}
	places64 := sym.BroadcastAdd(pick(at, flat), c.indices(first, planes, 1))
	return []*sym.Symbol{c.reshape(pick(s, flat), shape), c.reshape(places64, shape)}
}

// elements lists the places in the flat data that window o reads, in their order.
func (w *win) elements(extents dtype.Shape, outs []int, o int) []int {
	n := len(extents)
	begin := make([]int, n)
	for i := n - 1; i >= 0; i-- {
		begin[i] = o%outs[i]*w.stride[i] - w.before[i]
		o /= outs[i]
	}
	list, first := []int{}, -1
	for k := range dtype.Shape(w.kernel).Size() {
		place, step := 0, 1
		for i := n - 1; i >= 0; i-- {
			at := begin[i] + k%w.kernel[i]*w.dilation[i]
			k /= w.kernel[i]
			if at < 0 || at >= extents[i] {
				place = -1
				break
			}
			place, step = place+at*step, step*extents[i]
		}
		if first < 0 && place >= 0 {
			first = place
		}
		list = append(list, place)
	}
	for i, place := range list {
		if place < 0 {
			list[i] = max(first, 0)
		}
	}
	return list
}

// order turns places in row-major order into those that the attribute storage_order asks for.
func (w *win) order(c *call, table []int, extents dtype.Shape) []int {
	if c.num("storage_order", 0) == 0 {
		return table
	}
	list := make([]int, len(table))
	for i, place := range table {
		step := extents.Size()
		for a := len(extents) - 1; a >= 0; a-- {
			step /= extents[a]
			list[i] += place % extents[a] * step
			place /= extents[a]
		}
	}
	return list
}

// maxUnpool writes elements to the places that the output Indices of MaxPool names. The places are
// those of the data of the pooling; an output_shape of greater extents adds zeros.
func maxUnpool(c *call) []*sym.Symbol {
	v := c.in[0]
	if v.rank() < 3 || !v.shape.Equal(c.in[1].shape) {
		return c.fail("data of shape %v and indices of shape %v, want the same with at least three "+
			"axes", v.shape, c.in[1].shape)
	}
	w := window(c, v.shape, nil)
	shape := v.shape.Clone()
	if c.err != nil {
		return nil
	}
	for i := range w.kernel {
		shape[2+i] = (v.shape[2+i]-1)*w.stride[i] + w.kernel[i] - w.before[i] - w.after[i]
	}
	want := []int(shape)
	if c.has(2) {
		want = c.ints(2)
	}
	if c.err != nil || !c.possible(shape) || !c.possible(want) {
		return nil
	}
	n := v.size()
	s := sym.ScatterND(c.reshape(c.x(0), dtype.Shape{n}), c.reshape(cast(c.x(1), dtype.Int64),
		dtype.Shape{1, n}), sym.ScatterNDParams{Shape: []int{shape.Size()}})
	s = c.reshape(s, shape)
	if len(want) != len(shape) || !slices.Equal(want[:2], shape[:2]) {
		return c.fail("output_shape %v, want %v or greater extents", want, shape)
	}
	for i := 2; i < len(want); i++ {
		if want[i] < shape[i] {
			return c.fail("output_shape %v, want %v or greater extents", want, shape)
		}
		s = c.padAxis(s, padding{"constant", i, 0, want[i] - shape[i], 0})
	}
	return out(s)
}
