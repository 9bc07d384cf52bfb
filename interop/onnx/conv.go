package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// convRows are convolutions.
var convRows = map[string]row{"Conv": {2, conv}, "ConvTranspose": {2, convTranspose}}

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
	p := sym.DeconvolutionParams{Kernel: w.kernel, Stride: w.stride, Dilate: w.dilation,
		NumFilter: weight[1] * group, NumGroup: group, NoBias: sym.Some(!c.has(2))}
	opts := []sym.Option{sym.With("weight", c.x(1))}
	if c.has(2) {
		opts = append(opts, sym.With("bias", c.x(2)))
	}
	if c.err != nil {
		return nil
	}
	if slices.Max(extra) == 0 && slices.Equal(w.before, w.after) {
		p.Pad = w.before
		return out(sym.Deconvolution(c.x(0), p, opts...))
	}
	p.Adj = extra
	s := sym.Deconvolution(c.x(0), p, opts...)
	for i := range n {
		have := c.shapeOf(s)
		if c.err != nil || w.before[i]+w.after[i] > have[2+i] {
			return c.fail("padding of %d and %d for the extent %v", w.before[i], w.after[i], have)
		}
		s = cut(s, 2+i, w.before[i], have[2+i]-w.after[i])
	}
	return out(s)
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
