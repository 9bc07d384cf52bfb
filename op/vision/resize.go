package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BilinearResize2DParams configures BilinearResize2D.
type BilinearResize2DParams struct {
	Height         int             `op:"height" default:"1" min:"1" doc:"height of the output, for mode size without scales"`
	Width          int             `op:"width" default:"1" min:"1" doc:"width of the output, for mode size without scales"`
	ScaleHeight    op.Opt[float64] `op:"scale_height" doc:"factor of the height, for modes size and odd_scale"`
	ScaleWidth     op.Opt[float64] `op:"scale_width" doc:"factor of the width; used if scale_height is given"`
	Mode           string          `op:"mode" default:"size" enum:"size|odd_scale|like|to_even_down|to_even_up|to_odd_down|to_odd_up" doc:"computation of the output's size"`
	NoAlignCorners bool            `op:"align_corners,not" doc:"align the centres of the outermost elements, not the borders of the images"`
}

// BilinearResize2D and its gradient, which reads only the shape of the data.
var (
	BilinearResize2D = op.Declare[BilinearResize2DParams]("_contrib_BilinearResize2D")
	bilinearGrad     = op.Declare[BilinearResize2DParams]("_backward_contrib_BilinearResize2D")
)

func init() {
	BilinearResize2D.Define(op.Spec[BilinearResize2DParams]{
		Traits: op.Traits{
			GoName: "BilinearResize2D",
			Doc: `BilinearResize2D resizes data of shape (n, c, h, w) by interpolation between four elements.

Modes: size uses height and width, or the scales if they are given; odd_scale scales an odd extent
minus one and adds one; like uses height and width of the second input, which gets no gradient;
to_even_down, to_even_up, to_odd_down and to_odd_up change extents by at most one.`,
			Ignores: []int{1},
		},
		Inputs: func(p BilinearResize2DParams) []op.Input {
			if p.Mode == "like" {
				return []op.Input{{Name: "data"}, {Name: "like"}}
			}
			return []op.Input{{Name: "data"}}
		},
		Infer:     inferResize,
		InferType: op.FloatType[BilinearResize2DParams],
		Grad: func(g *op.Grad, p BilinearResize2DParams) []op.Entry {
			in := make([]op.Entry, len(g.Node.In))
			in[0] = bilinearGrad.Apply(p, g.Head(0), g.In(0))
			return in
		},
		Ref: inType(resize[float32], resize[float64]),
	})
	bilinearGrad.Define(op.Spec[BilinearResize2DParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: prim.Inputs[BilinearResize2DParams]("out_grad", "data"),
		Infer: func(p BilinearResize2DParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			fwd := []dtype.Shape{in[1], nil}[:len(BilinearResize2D.Inputs(p))]
			if err := inferResize(p, fwd, in[:1]); err != nil {
				return err
			}
			in[1], out[0] = fwd[0], fwd[0].Clone()
			return nil
		},
		InferType: op.FloatType[BilinearResize2DParams],
		Grad: prim.Adjoint(func(g *op.Grad, p BilinearResize2DParams, h op.Entry) op.Entry {
			if p.Mode == "like" {
				return BilinearResize2D.Apply(p, h, g.In(0))
			}
			return BilinearResize2D.Apply(p, h)
		}),
		Ref: inType(resizeBack[float32], resizeBack[float64]),
	})
}

func inferResize(p BilinearResize2DParams, in, out []dtype.Shape) error {
	if err := op.Require("data", &in[0], featureMap()); err != nil {
		return err
	}
	h, w := -1, -1
	if p.Mode == "like" {
		if err := op.Require("like", &in[1], featureMap()); err != nil {
			return err
		}
		h, w = in[1][2], in[1][3]
	} else {
		_, scaled := p.ScaleHeight.Get()
		if _, ok := p.ScaleWidth.Get(); !ok && (scaled || p.Mode == "odd_scale") {
			return op.Errorf("scale_width", "missing, it is needed with scale_height")
		}
		if !scaled && p.Mode == "odd_scale" {
			return op.Errorf("scale_height", "missing, mode odd_scale needs it")
		}
		h, w = p.extent(in[0][2], p.Height, p.ScaleHeight), p.extent(in[0][3], p.Width,
			p.ScaleWidth)
	}
	if x := in[0]; x[2] == 0 || x[3] == 0 {
		return op.Errorf("data", "shape %v, want at least one element to resize", x)
	}
	if h == 0 || w == 0 || h < -1 || w < -1 {
		return op.Errorf("data", "shape %v becomes %d·%d, want at least one element", in[0], h, w)
	}
	if err := inferPlanes(&in[0], &out[0], h, w); err != nil {
		return err
	}
	if p.Mode == "like" {
		in[1][2], in[1][3] = out[0][2], out[0][3]
	}
	return nil
}

// extent returns the output's extent for an extent n of data, -1 if it depends on n and n is
// unknown.
func (p BilinearResize2DParams) extent(n, size int, scale op.Opt[float64]) int {
	factor := float32(scale.Or(0))
	if _, scaled := p.ScaleHeight.Get(); p.Mode == "size" && !scaled {
		return size
	}
	if n == -1 {
		return -1
	}
	odd := n % 2
	switch p.Mode {
	case "size":
		return int(factor * float32(n))
	case "odd_scale":
		return int(factor*float32(n-odd)) + odd
	case "to_even_down":
		return n - odd
	case "to_even_up":
		return n + odd
	case "to_odd_down":
		return n - 1 + odd
	}
	return n + 1 - odd // to_odd_up
}

// source returns the position on an axis of n elements that element i of the resized axis of m
// elements reads.
func (p BilinearResize2DParams) source(i, n, m int) float32 {
	switch {
	case m == 1 || n == m:
		return float32(i)
	case p.NoAlignCorners:
		return max(float32(n)/float32(m)*(float32(i)+0.5)-0.5, 0)
	}
	return float32(n-1) / float32(m-1) * float32(i)
}

// eachResized calls f for the elements of all output planes with the elements around their position
// in the plane of data that begins at first.
func eachResized[T float](p BilinearResize2DParams, data, out dtype.Shape,
	f func(i, first int, t tap[T])) {
	h, w := out[2], out[3]
	for k := range h * w {
		y, x := p.source(k/w, data[2], h), p.source(k%w, data[3], w)
		t, _ := sample(T(y), T(x), data[2], data[3])
		for plane := range out[0] * out[1] {
			f(plane*h*w+k, plane*data[2]*data[3], t)
		}
	}
}

func resize[T float](p BilinearResize2DParams, c *op.Call) error {
	x, y := read[T](c.In[0]), blank[T](c.Out[0])
	eachResized(p, c.In[0].Shape, c.Out[0].Shape, func(i, first int, t tap[T]) {
		for k, at := range t.at {
			y[i] += t.weight[k] * x[first+at]
		}
	})
	store(c.Out[0], y)
	return nil
}

func resizeBack[T float](p BilinearResize2DParams, c *op.Call) error {
	dy, dx := read[T](c.In[0]), blank[T](c.Out[0])
	eachResized(p, c.Out[0].Shape, c.In[0].Shape, func(i, first int, t tap[T]) {
		for k, at := range t.at {
			dx[first+at] += t.weight[k] * dy[i]
		}
	})
	store(c.Out[0], dx)
	return nil
}
