package export

import (
	"slices"

	"gomx/dtype"
	"gomx/op/nn"
)

// poolRules are poolings.
var poolRules = rules{
	nn.Pooling.Op: on(func(c *call, p nn.PoolingParams) []value {
		return one(c.pooling(c.x(0), p))
	}),
	nn.PoolingV1.Op: on(poolingV1),
}

// pool is a pooling while it is exported.
type pool struct {
	kernel, stride, pad, after []int // after: padding at the end with which windows fit
	kind                       string
	include                    bool // padding counts in averages
	power                      int  // of lp
}

// volume is the number of elements of a window.
func (p *pool) volume() float64 {
	n := 1.0
	for _, k := range p.kernel {
		n *= float64(k)
	}
	return n
}

// pooling pools x to the output; it moves channels to axis 1 where they come last.
func (c *call) pooling(x value, p nn.PoolingParams) value {
	out := c.out(0).shape
	rank := len(x.shape)
	last := slices.Contains([]string{"NWC", "NHWC", "NDHWC"}, p.Layout)
	perm := append(append([]int{0}, upTo(2, rank)...), 1) // from channels first to channels last
	if last {
		out = slices.Concat(out[:1], out[rank-1:], out[1:rank-1])
		x = c.transpose(x, append([]int{0, rank - 1}, upTo(1, rank-1)...)...)
	}
	l := pool{kernel: p.Kernel, kind: p.PoolType, include: p.CountIncludePad.Or(true),
		power: p.PValue.Or(2)}
	y := value{}
	if p.GlobalPool {
		y = c.globalPool(x, &l)
	} else {
		l.stride, l.pad = perAxis(p.Stride, rank-2, 1), perAxis(p.Pad, rank-2, 0)
		l.fit(x.shape[2:], out[2:])
		y = c.pooled(x, out, &l)
	}
	if last {
		y = c.transpose(y, perm...)
	}
	return y
}

// globalPool covers all positions.
func (c *call) globalPool(x value, l *pool) value {
	axes := upTo(2, len(x.shape))
	switch l.kind {
	case "sum":
		return c.reduce("ReduceSum", x, axes, true)
	case "max":
		return c.reduce("ReduceMax", x, axes, true)
	case "lp":
		shape := x.shape.Clone()
		for _, a := range axes {
			shape[a] = 1
		}
		return c.add("GlobalLpPool", shape, x.typ, one(x), num("p", l.power))
	}
	return c.reduce("ReduceMean", x, axes, true)
}

// fit chooses the padding at the end so that windows at all positions fit.
func (l *pool) fit(in, out dtype.Shape) {
	l.after = make([]int, len(in))
	for i := range in {
		l.after[i] = max(0, (out[i]-1)*l.stride[i]+l.kernel[i]-in[i]-l.pad[i])
	}
}

// pooled adds the pooling. gomx cuts windows off at the padding, so that windows at the end may
// average over fewer elements than ONNX's do; a factor for each position makes up for that.
func (c *call) pooled(x value, out dtype.Shape, l *pool) value {
	for i := range l.kernel {
		if max(l.pad[i], l.after[i]) >= l.kernel[i] {
			c.fail("windows that lie in the padding alone")
			return x
		}
	}
	attrs := window(l.kernel, l.stride, nil, slices.Clone(l.pad), l.after)
	cut := false
	for i := range l.pad {
		cut = cut || l.after[i] > l.pad[i]
	}
	switch l.kind {
	case "max":
		return c.add("MaxPool", out, x.typ, one(x), attrs...)
	case "lp":
		return c.add("LpPool", out, x.typ, one(x), append(attrs, num("p", l.power))...)
	case "sum":
		y := c.add("AveragePool", out, x.typ, one(x), append(attrs,
			num("count_include_pad", 1))...)
		return c.scaled(y, l.volume())
	}
	if !l.include {
		return c.add("AveragePool", out, x.typ, one(x), append(attrs,
			num("count_include_pad", 0))...)
	}
	y := c.add("AveragePool", out, x.typ, one(x), append(attrs, num("count_include_pad", 1))...)
	if cut {
		y = c.times(y, c.shares(x, out, l))
	}
	return y
}

// shares has the extent of a full window divided by the extent of the window at each position.
func (c *call) shares(x value, out dtype.Shape, l *pool) value {
	factors := []float64{1}
	for i, n := range out[2:] {
		var next []float64
		for _, f := range factors {
			for o := range n {
				from := o*l.stride[i] - l.pad[i]
				to := min(from+l.kernel[i], x.shape[2+i]+l.pad[i])
				next = append(next, f*float64(l.kernel[i])/float64(to-from))
			}
		}
		factors = next
	}
	return c.constant(x.typ, append(dtype.Shape{1, 1}, out[2:]...), factors...)
}

// poolingV1 counts the padding as zeros for max, and divides averages by the full window.
func poolingV1(c *call, p nn.PoolingV1Params) []value {
	x, out := c.x(0), c.out(0).shape
	n := len(x.shape) - 2
	l := pool{kernel: p.Kernel, kind: p.PoolType, include: true}
	if p.GlobalPool {
		return one(c.globalPool(x, &l))
	}
	l.stride, l.pad = perAxis(p.Stride, n, 1), perAxis(p.Pad, n, 0)
	if p.PoolType == "max" {
		x = c.pad(x, "constant", 0, slices.Concat([]int{0, 0}, l.pad, []int{0, 0}, l.pad))
		l.pad = make([]int, n)
	}
	l.fit(x.shape[2:], out[2:])
	if p.PoolType == "avg" {
		l.kind = "sum"
		return one(c.scaled(c.pooled(x, out, &l), 1/l.volume()))
	}
	return one(c.pooled(x, out, &l))
}

// pad adds elements: widths has those before all axes, then those behind them.
func (c *call) pad(x value, mode string, v float64, widths []int) value {
	shape := x.shape.Clone()
	for i := range shape {
		shape[i] += widths[i] + widths[len(shape)+i]
	}
	in := []value{x, c.indices(widths...)}
	if mode == "constant" {
		in = append(in, c.like(x, v))
	}
	return c.add("Pad", shape, x.typ, in, text("mode", mode))
}

// convRules are convolutions.
var convRules = rules{nn.Convolution.Op: on(convolution), nn.Deconvolution.Op: on(deconvolution)}

// perAxis completes a list of one number per axis, which may be empty.
func perAxis(list []int, n, otherwise int) []int {
	full := make([]int, n)
	for i := range full {
		full[i] = otherwise
		if i < len(list) {
			full[i] = list[i]
		}
	}
	return full
}

// window are the attributes that convolutions share.
func window(kernel, stride, dilate, before, after []int) []*attribute {
	n := len(kernel)
	list := []*attribute{ints("kernel_shape", kernel...),
		ints("strides", perAxis(stride, n, 1)...), ints("pads", append(before, after...)...)}
	if dilate != nil {
		list = append(list, ints("dilations", perAxis(dilate, n, 1)...))
	}
	return list
}

func convolution(c *call, p nn.ConvolutionParams) []value {
	in := c.all()
	if p.NoBias {
		in = in[:2]
	}
	n := len(p.Kernel)
	pad := perAxis(p.Pad, n, 0)
	return one(c.convolve("Conv", p, pad, c.out(0), in...))
}

// convolve adds a convolution with the same padding on both sides of each axis; out has the shape
// and the type of its result.
func (c *call) convolve(name string, p nn.ConvolutionParams, pad []int, out value,
	in ...value) value {
	attrs := window(p.Kernel, p.Stride, perAxis(p.Dilate, len(p.Kernel), 1), pad, slices.Clone(pad))
	return c.add(name, out.shape, out.typ, in, append(attrs, num("group", p.NumGroup))...)
}

// deconvolution says by the padding at the end how large the output is.
func deconvolution(c *call, p nn.DeconvolutionParams) []value {
	in := c.all()
	if p.NoBias.Value() {
		in = in[:2]
	}
	n := len(p.Kernel)
	stride, dilate := perAxis(p.Stride, n, 1), perAxis(p.Dilate, n, 1)
	before, after, more := perAxis(p.Pad, n, 0), make([]int, n), make([]int, n)
	for i := range n {
		full := stride[i]*(in[0].shape[2+i]-1) + dilate[i]*(p.Kernel[i]-1) + 1
		total := full - c.out(0).shape[2+i]
		if len(p.TargetShape) > 0 {
			before[i] = (total + 1) / 2
		}
		after[i] = total - before[i]
		if after[i] < 0 {
			after[i], more[i] = 0, -after[i]
		}
	}
	attrs := append(window(p.Kernel, stride, dilate, before, after), num("group", p.NumGroup),
		ints("output_padding", more...))
	return one(c.add("ConvTranspose", c.out(0).shape, c.out(0).typ, in, attrs...))
}
