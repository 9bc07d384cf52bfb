package export

import (
	"gomx/op/nn"
)

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
	attrs := window(p.Kernel, p.Stride, perAxis(p.Dilate, n, 1), pad, pad)
	return one(c.add("Conv", c.out(0).shape, c.out(0).typ, in, append(attrs,
		num("group", p.NumGroup))...))
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
