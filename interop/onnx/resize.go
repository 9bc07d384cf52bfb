package onnx

import (
	"math"

	"gomx/dtype"
	sym "gomx/symbol"
)

// resizeRows change the extents of pictures.
var resizeRows = map[string]row{"Resize": {1, resize}, "Upsample": {1, upsample}}

// sampling says how a resized axis reads its source.
type sampling struct {
	mode, transform, nearest string
	cubic                    float64 // coefficient of cubic interpolation
	antialias, exclude       bool
	outside                  float64 // value for places outside, with tf_crop_and_resize
	in, out                  int     // extents
	scale                    float64
	from, to                 float64 // part of the source that tf_crop_and_resize reads
}

// source returns the place in the source that element i of the output reads.
func (p *sampling) source(i int) float64 {
	x, out := float64(i), float64(p.out)
	switch p.transform {
	case "align_corners":
		if p.out == 1 {
			return 0
		}
		return x * float64(p.in-1) / (p.scale*float64(p.in) - 1)
	case "asymmetric":
		return x / p.scale
	case "pytorch_half_pixel":
		if p.out == 1 {
			return -0.5
		}
	case "half_pixel_symmetric":
		adjust := out / (p.scale * float64(p.in))
		centre := float64(p.in) / 2
		return centre*(1-adjust) + (x+0.5)/p.scale - 0.5
	case "tf_crop_and_resize":
		if p.out == 1 {
			return 0.5 * (p.from + p.to) * float64(p.in-1)
		}
		return p.from*float64(p.in-1) + x*(p.to-p.from)*float64(p.in-1)/(out-1)
	}
	return (x+0.5)/p.scale - 0.5
}

// kernel is the weight of an element at a distance.
func (p *sampling) kernel(d float64) float64 {
	d = math.Abs(d)
	if p.mode == "linear" {
		return max(0, 1-d)
	}
	a := p.cubic
	switch {
	case d <= 1:
		return ((a+2)*d-(a+3))*d*d + 1
	case d < 2:
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	return 0
}

// weights returns the elements of the source that make element i, with their weights. An empty
// list stands for a place outside.
func (p *sampling) weights(i int) map[int]float64 {
	x := p.source(i)
	last := float64(p.in - 1)
	if p.transform == "tf_crop_and_resize" && (x < 0 || x > last) {
		return nil
	}
	if p.mode == "nearest" {
		return map[int]float64{int(min(max(p.round(x), 0), last)): 1}
	}
	reach, shrink := 1.0, 1.0
	if p.mode == "cubic" {
		reach = 2
	}
	if p.antialias && p.scale < 1 {
		shrink = p.scale
	}
	list, sum := map[int]float64{}, 0.0
	low, high := math.Floor(x-reach/shrink)+1, math.Ceil(x+reach/shrink)-1
	if x == math.Floor(x) && shrink == 1 {
		low, high = x-reach+1, x+reach
	}
	for k := low; k <= high; k++ {
		if p.exclude && (k < 0 || k > last) {
			continue
		}
		w := p.kernel((k - x) * shrink)
		list[int(min(max(k, 0), last))] += w
		sum += w
	}
	if p.exclude || shrink < 1 {
		for k := range list {
			list[k] /= sum
		}
	}
	return list
}

// round finds the nearest element.
func (p *sampling) round(x float64) float64 {
	switch p.nearest {
	case "floor":
		return math.Floor(x)
	case "ceil":
		return math.Ceil(x)
	case "round_prefer_ceil":
		return math.Floor(x + 0.5)
	}
	return math.Ceil(x - 0.5)
}

// resize has scales as input 1 in opset 10, and roi, scales and sizes as inputs 1 to 3 from 11 on.
func resize(c *call) []*sym.Symbol {
	v := c.in[0]
	scales, sizes := c.reals(1), []int(nil)
	var roi []float64
	if c.version >= 11 {
		scales, sizes = c.reals(2), c.ints(3)
		if c.text("coordinate_transformation_mode", "") == "tf_crop_and_resize" {
			roi = c.reals(1)
		}
	}
	axes := c.nums("axes")
	if axes == nil {
		axes = upTo(0, v.rank())
	}
	axes = c.axes(axes, v.rank())
	if c.err != nil {
		return nil
	}
	n := len(axes)
	if len(sizes) > 0 {
		scales = nil
	}
	if len(scales) != n && len(sizes) != n || roi != nil && len(roi) != 2*n {
		return c.fail("scales %v, sizes %v and roi %v for %d axes", scales, sizes, roi, n)
	}
	sizes, scales = targets(c, axes, sizes, scales)
	s := c.x(0)
	for i, a := range axes {
		if c.err != nil {
			return nil
		}
		p := readSampling(c)
		p.in, p.out, p.scale = v.shape[a], sizes[i], scales[i]
		p.from, p.to = 0, 1
		if roi != nil {
			p.from, p.to = roi[i], roi[n+i]
		}
		if p.in == p.out && p.scale == 1 && roi == nil {
			continue
		}
		s = resample(c, s, a, p)
	}
	if s == c.x(0) {
		s = sym.Identity(s)
	}
	return out(s)
}

// readSampling reads the attributes.
func readSampling(c *call) sampling {
	p := sampling{mode: c.text("mode", "nearest"),
		transform: c.text("coordinate_transformation_mode", "half_pixel"),
		nearest:   c.text("nearest_mode", "round_prefer_floor"),
		cubic:     c.float("cubic_coeff_a", -0.75), antialias: c.num("antialias", 0) != 0,
		exclude: c.num("exclude_outside", 0) != 0, outside: c.float("extrapolation_value", 0)}
	if c.version < 11 {
		p.transform, p.nearest = "asymmetric", "floor"
	}
	if p.mode != "nearest" && p.mode != "linear" && p.mode != "cubic" {
		c.fail("mode %q is unknown", p.mode)
	}
	return p
}

// targets computes the extents and scales of the output from either.
func targets(c *call, axes, sizes []int, scales []float64) ([]int, []float64) {
	shape := c.in[0].shape
	const most = 1 << 20
	if len(sizes) > 0 {
		scales = make([]float64, len(axes))
		for i, a := range axes {
			scales[i] = float64(sizes[i]) / float64(max(1, shape[a]))
		}
		if policy := c.text("keep_aspect_ratio_policy", "stretch"); policy != "stretch" {
			best := scales[0]
			for _, s := range scales {
				if policy == "not_larger" {
					best = min(best, s)
				} else {
					best = max(best, s)
				}
			}
			sizes = append([]int(nil), sizes...)
			for i, a := range axes {
				scales[i] = best
				sizes[i] = int(math.Floor(best*float64(shape[a]) + 0.5))
			}
		}
	} else {
		for i, a := range axes {
			if !(scales[i] > 0 && scales[i] < most) {
				c.fail("scales %v, want positive numbers", scales)
				return make([]int, len(axes)), scales
			}
			sizes = append(sizes, int(math.Floor(scales[i]*float64(shape[a])+1e-9)))
		}
	}
	for i, n := range sizes {
		if n < 1 || n > most || shape[axes[i]] < 1 || shape[axes[i]] > most/n*16 {
			c.fail("sizes %v for the shape %v", sizes, shape)
		}
	}
	return sizes, scales
}

// resample resizes one axis: nearest elements are taken, others are a product with the matrix of
// weights.
func resample(c *call, s *sym.Symbol, axis int, p sampling) *sym.Symbol {
	shape := c.shapeOf(s)
	if c.err != nil {
		return s
	}
	if p.mode == "nearest" && p.transform != "tf_crop_and_resize" {
		list := make([]int, p.out)
		for i := range list {
			for k := range p.weights(i) {
				list[i] = k
			}
		}
		return c.take(s, axis, list)
	}
	matrix, offset := make([]float64, p.in*p.out), make([]float64, p.out)
	inside := make([]float64, p.out)
	any := false
	for i := range p.out {
		w := p.weights(i)
		for k, f := range w {
			matrix[k*p.out+i] = f
		}
		inside[i] = 1
		if w == nil {
			inside[i], offset[i], any = 0, p.outside, true
		}
	}
	typ := c.fact(s).typ
	compute := typ
	if !typ.IsFloat() {
		compute = dtype.Float32
		s = cast(s, compute)
	}
	s = sym.SwapAxis(s, sym.SwapAxisParams{Dim1: axis, Dim2: len(shape) - 1})
	swapped := shape.Clone()
	swapped[axis], swapped[len(shape)-1] = shape[len(shape)-1], shape[axis]
	rows := swapped[:len(shape)-1].Size()
	s = sym.Dot(c.reshape(s, dtype.Shape{rows, p.in}), c.numbers(compute, matrix, p.in, p.out),
		sym.DotParams{})
	if any {
		s = sym.BroadcastAdd(sym.BroadcastMul(s, c.numbers(compute, inside, 1, p.out)),
			c.numbers(compute, offset, 1, p.out))
	}
	swapped[len(shape)-1] = p.out
	s = sym.SwapAxis(c.reshape(s, swapped), sym.SwapAxisParams{Dim1: axis, Dim2: len(shape) - 1})
	if compute != typ {
		s = cast(s, typ)
	}
	return s
}

// upsample is the old form of resize.
func upsample(c *call) []*sym.Symbol {
	scales := c.floats("scales")
	if c.has(1) {
		scales = c.reals(1)
	}
	axes := upTo(0, c.in[0].rank())
	if c.err != nil {
		return nil
	}
	if len(scales) != len(axes) {
		return c.fail("scales %v for the shape %v", scales, c.in[0].shape)
	}
	sizes, scales := targets(c, axes, nil, scales)
	s := c.x(0)
	for i, a := range axes {
		if c.err != nil {
			return nil
		}
		p := readSampling(c)
		p.transform, p.nearest = "asymmetric", "floor"
		p.in, p.out, p.scale = c.in[0].shape[a], sizes[i], scales[i]
		if p.in != p.out {
			s = resample(c, s, a, p)
		}
	}
	return out(sym.Identity(s))
}
