package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// convRows are convolutions.
var convRows = map[string]row{
	"Conv": {2, conv}, "ConvTranspose": {2, convTranspose}, "Col2Im": {3, colToImage},
	"DeformConv": {3, deformConv},
}

// win is the window of a convolution or a pooling over n axes.
type win struct {
	kernel, stride, dilation []int
	before, after            []int // padding
	ceil                     bool  // round the extents of the output up
}

// window reads the attributes of a window; kernel is the extent of the weights, nil for poolings.
func window(c *call, data dtype.Shape, kernel []int) win {
	if list := c.nums("kernel_shape"); list != nil && kernel == nil {
		kernel = list
	}
	n := len(data) - 2
	if n < 1 || len(kernel) != n {
		c.fail("a window of extents %v for data of shape %v", kernel, data)
		return win{}
	}
	w := win{kernel: kernel, stride: c.perAxis("strides", n, 1),
		dilation: c.perAxis("dilations", n, 1), ceil: c.num("ceil_mode", 0) != 0}
	pads := c.perAxis("pads", 2*n, 0)
	if c.err != nil {
		return win{}
	}
	w.before, w.after = slices.Clone(pads[:n]), slices.Clone(pads[n:])
	for i := range n {
		if w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 || w.before[i] < 0 ||
			w.after[i] < 0 || max(w.kernel[i], w.stride[i], w.dilation[i], w.before[i],
			w.after[i]) > 1<<20 {
			c.fail("window %v, strides %v, dilations %v, pads %v: out of bounds", kernel, w.stride,
				w.dilation, pads)
			return win{}
		}
	}
	return w
}

// perAxis returns an attribute of n integers, or a value for each.
func (c *call) perAxis(name string, n, otherwise int) []int {
	list := c.nums(name)
	if list == nil {
		list = make([]int, n)
		for i := range list {
			list[i] = otherwise
		}
	}
	if len(list) != n {
		c.fail("attribute %q has %d numbers, want %d", name, len(list), n)
		return make([]int, n)
	}
	return list
}

// span is the extent of the window on axis i, dilation included.
func (w *win) span(i int) int { return (w.kernel[i]-1)*w.dilation[i] + 1 }

// auto computes the padding of auto_pad for extents of data.
func auto(c *call, w *win, data []int) {
	mode := c.text("auto_pad", "NOTSET")
	if mode == "NOTSET" || c.err != nil {
		return
	}
	for i, d := range data {
		total := 0
		if mode != "VALID" {
			total = max(0, ((d+w.stride[i]-1)/w.stride[i]-1)*w.stride[i]+w.span(i)-d)
		}
		w.before[i], w.after[i] = total/2, total-total/2
		if mode == "SAME_LOWER" {
			w.before[i], w.after[i] = total-total/2, total/2
		}
	}
}

// padded adds padding that differs between the ends of an axis, which gomx's operators lack.
// Equal padding stays in w.
func padded(c *call, s *sym.Symbol, w *win, value float64) *sym.Symbol {
	if slices.Equal(w.before, w.after) {
		return s
	}
	for i := range w.before {
		s = c.padAxis(s, padding{"constant", i + 2, w.before[i], w.after[i], value})
		w.before[i], w.after[i] = 0, 0
	}
	return s
}

func conv(c *call) []*sym.Symbol {
	data, weight := c.in[0].shape, c.in[1].shape
	if len(weight) != len(data) || len(data) < 3 {
		return c.fail("data of shape %v and weights of shape %v", data, weight)
	}
	w := window(c, data, weight[2:])
	if c.err != nil {
		return nil
	}
	auto(c, &w, data[2:])
	if s := codedConv(c, w); s != nil || c.err != nil {
		return out(s)
	}
	s := padded(c, c.x(0), &w, 0)
	p := sym.ConvolutionParams{Kernel: w.kernel, Stride: w.stride, Dilate: w.dilation,
		Pad: w.before, NumFilter: weight[0], NumGroup: c.num("group", 1), NoBias: !c.has(2)}
	opts := []sym.Option{sym.With("weight", c.x(1))}
	if c.has(2) {
		opts = append(opts, sym.With("bias", c.x(2)))
	}
	return out(sym.Convolution(s, p, opts...))
}

// convTranspose computes the whole result and cuts the padding off.
func convTranspose(c *call) []*sym.Symbol {
	data, weight, group := c.in[0].shape, c.in[1].shape, c.num("group", 1)
	if len(weight) != len(data) || len(data) < 3 {
		return c.fail("data of shape %v and weights of shape %v", data, weight)
	}
	w := window(c, data, weight[2:])
	n := len(data) - 2
	extra, want := c.perAxis("output_padding", n, 0), c.nums("output_shape")
	if c.err != nil {
		return nil
	}
	if len(want) > n {
		want = want[len(want)-n:]
	}
	for i := range n {
		if extra[i] < 0 || extra[i] > 1<<20 {
			return c.fail("output_padding %v is out of bounds", extra)
		}
		transposePads(c, &w, data[2+i], i, extra[i], want)
	}
	p := sym.DeconvolutionParams{NumFilter: weight[1] * group, NumGroup: group,
		NoBias: sym.Some(!c.has(2))}
	opts := []sym.Option{sym.With("weight", c.x(1))}
	if c.has(2) {
		opts = append(opts, sym.With("bias", c.x(2)))
	}
	if c.err != nil {
		return nil
	}
	return out(deconvolved(c, c.x(0), w, extra, p, opts...))
}

// deconvolved computes a transposed convolution with the window w; extra elements follow at the end
// of each axis.
func deconvolved(c *call, s *sym.Symbol, w win, extra []int, p sym.DeconvolutionParams,
	opts ...sym.Option) *sym.Symbol {
	p.Kernel, p.Stride, p.Dilate = w.kernel, w.stride, w.dilation
	if slices.Max(extra) == 0 && slices.Equal(w.before, w.after) {
		p.Pad = w.before
		return sym.Deconvolution(s, p, opts...)
	}
	p.Adj = extra
	s = sym.Deconvolution(s, p, opts...)
	for i := range w.kernel {
		have := c.shapeOf(s)
		if c.err != nil || w.before[i]+w.after[i] > have[2+i] {
			c.fail("padding of %d and %d for the extent %v", w.before[i], w.after[i], have)
			return s
		}
		s = cut(s, 2+i, w.before[i], have[2+i]-w.after[i])
	}
	return s
}

// colToImage adds the elements of windows to an image: a transposed convolution whose weights move
// each element of a column to its place in the window.
func colToImage(c *call) []*sym.Symbol {
	v, size, kernel := c.in[0], c.ints(1), c.ints(2)
	if c.err != nil || !c.possible(size) || !c.possible(kernel) {
		return nil
	}
	n, places := len(size), dtype.Shape(kernel).Size()
	if n < 1 || n > 3 || v.rank() != 3 || len(kernel) != n || places < 1 ||
		v.shape[1]%places != 0 || v.size() == 0 {
		return c.fail("columns of shape %v for an image of extents %v and windows of %v, want (n, "+
			"channels · elements of a window, windows)", v.shape, size, kernel)
	}
	image := slices.Concat(dtype.Shape{1, 1}, size)
	w := window(c, image, kernel)
	if c.err != nil {
		return nil
	}
	count, extra := make([]int, n), make([]int, n)
	for i, d := range size {
		room := d + w.before[i] + w.after[i] - w.span(i)
		count[i], extra[i] = room/w.stride[i]+1, room%w.stride[i]
		if room < 0 {
			count[i] = 0
		}
	}
	channels, total := v.shape[1]/places, dtype.Shape(count).Size()
	if total != v.shape[2] {
		return c.fail("%d windows, want %d for extents %v", v.shape[2], total, size)
	}
	if !c.spend(8 * v.shape[1] * places) {
		return nil
	}
	list := make([]float64, v.shape[1]*places)
	for i := range v.shape[1] {
		list[i*places+i%places] = 1
	}
	weight := c.numbers(v.typ, list, slices.Concat([]int{v.shape[1], 1}, kernel)...)
	s := c.reshape(c.x(0), slices.Concat(v.shape[:2], dtype.Shape(count)))
	return out(deconvolved(c, s, w, extra, sym.DeconvolutionParams{NumFilter: channels,
		NumGroup: channels}, sym.With("weight", weight)))
}

// deformConv is a convolution whose window elements are moved and weighed.
func deformConv(c *call) []*sym.Symbol {
	data, weight, offset := c.in[0].shape, c.in[1].shape, c.in[2].shape
	if len(data) != 4 || len(weight) != 4 || len(offset) != 4 {
		return c.fail("data of shape %v, weights of shape %v and offsets of shape %v, want 4 axes "+
			"each", data, weight, offset)
	}
	w := window(c, data, weight[2:])
	if c.err != nil {
		return nil
	}
	if !slices.Equal(w.before, w.after) {
		return c.fail("pads %v and %v, want the same before and after", w.before, w.after)
	}
	groups := c.num("offset_group", 1)
	mask := offset.Clone()
	mask[1] /= 2
	factors := c.filled(mask, 1, c.in[0].typ)
	if c.has(4) {
		factors = c.x(4)
	}
	p := sym.ModulatedDeformableConvolutionParams{Kernel: w.kernel, Stride: w.stride,
		Dilate: w.dilation, Pad: w.before, NumFilter: weight[0], NumGroup: c.num("group", 1),
		NumDeformableGroup: groups, NoBias: !c.has(3)}
	opts := []sym.Option{sym.With("weight", c.x(1))}
	if c.has(3) {
		opts = append(opts, sym.With("bias", c.x(3)))
	}
	return out(sym.ModulatedDeformableConvolution(c.x(0), c.x(2), factors, p, opts...))
}

// transposePads computes the padding of axis i from output_shape or auto_pad.
func transposePads(c *call, w *win, d, i, extra int, want []int) {
	mode := c.text("auto_pad", "NOTSET")
	full := (d-1)*w.stride[i] + w.span(i) + extra
	total := 0
	switch {
	case i < len(want):
		total = full - want[i]
	case mode == "SAME_UPPER" || mode == "SAME_LOWER":
		total = full - d*w.stride[i]
	default:
		if mode == "VALID" {
			w.before[i], w.after[i] = 0, 0
		}
		return
	}
	if total < 0 {
		// The window is too small for the output: zeros follow.
		c.fail("output_shape %v is larger than the %d elements that axis %d has", want, full, i)
		return
	}
	w.before[i], w.after[i] = total/2, total-total/2
	if mode == "SAME_UPPER" || mode == "NOTSET" && i < len(want) {
		return
	}
	w.before[i], w.after[i] = total-total/2, total/2
}
