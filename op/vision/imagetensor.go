package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// ImageNormalizeParams configures ImageNormalize.
type ImageNormalizeParams struct {
	Mean []float64 `op:"mean" default:"(0, 0, 0, 0)" doc:"subtracted from data: one number per channel, or one for all"`
	Std  []float64 `op:"std" default:"(1, 1, 1, 1)" doc:"divisor after the subtraction: one number per channel, or one for all"`
}

// ImageToTensor and ImageNormalize, which prepare decoded images, and their gradients.
var (
	ImageToTensor      = op.Declare[op.NoParams]("_image_to_tensor")
	ImageNormalize     = op.Declare[ImageNormalizeParams]("_image_normalize")
	imageToTensorGrad  = op.Declare[op.NoParams]("_backward_image_to_tensor")
	imageNormalizeGrad = op.Declare[ImageNormalizeParams]("_backward_image_normalize")
)

func init() {
	ImageToTensor.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: `ImageToTensor converts images (h, w, c) or (n, h, w, c) with values from 0 to 255 into float32
feature maps (c, h, w) or (n, c, h, w) with values from 0 to 1.`,
			Aliases: []string{"_npx__image_to_tensor"},
		},
		Infer:     inferToTensor,
		InferType: floatOutput,
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{imageToTensorGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			x, y := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
			eachPixel(c.In[0].Shape, func(last, first int) { y[first] = x[last] / 255 })
			loop.Store(c.Out[0], 0, y)
			return nil
		},
	})
	imageToTensorGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: prim.Inputs[op.NoParams]("out_grad", "data"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			err := inferToTensor(p, in[1:], in[:1])
			out[0] = in[1].Clone()
			return err
		},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			if err := floatOutput(p, in[1:], in[:1]); err != nil {
				return err
			}
			return op.SameType(p, in[1:], out)
		},
		Grad: prim.Adjoint(func(_ *op.Grad, p op.NoParams, h op.Entry) op.Entry {
			return ImageToTensor.Apply(p, h)
		}),
		Ref: func(_ op.NoParams, c *op.Call) error {
			dy, dx := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
			eachPixel(c.Out[0].Shape, func(last, first int) { dx[last] = dy[first] / 255 })
			loop.Store(c.Out[0], 0, dx)
			return nil
		},
	})
	defineNormalize()
}

// floatOutput infers float32 for the output, for an input of any type.
func floatOutput(_ op.NoParams, _, out []dtype.Type) error {
	if out[0] != dtype.Unknown && out[0] != dtype.Float32 {
		return op.Errorf("output", "element type %v, want float32", out[0])
	}
	out[0] = dtype.Float32
	return nil
}

func inferToTensor(_ op.NoParams, in, out []dtype.Shape) error {
	x, y := &in[0], &out[0]
	for k, name := range []string{"data", "output"} {
		if s := [2]dtype.Shape{*x, *y}[k]; s != nil && len(s) != 3 && len(s) != 4 {
			return op.Errorf(name, "shape %v, want an image or a batch of images: 3 or 4 axes", s)
		}
	}
	if *x == nil && *y == nil {
		return nil
	}
	if s := *x; s != nil {
		k := len(s) - 3
		first := append(append(s[:k].Clone(), s[k+2]), s[k:k+2]...)
		if err := op.Require("output", y, first); err != nil {
			return err
		}
	}
	s := *y
	k := len(s) - 3
	return op.Require("data", x, append(append(s[:k].Clone(), s[k+1:]...), s[k]))
}

// eachPixel calls f for all elements of images (..., h, w, c) with their index there and in feature
// maps (..., c, h, w).
func eachPixel(s dtype.Shape, f func(last, first int)) {
	c := s[len(s)-1]
	plane := s[len(s)-3] * s[len(s)-2]
	for i := range s.Size() {
		image, pixel, channel := i/(plane*c), i/c%plane, i%c
		f(i, (image*c+channel)*plane+pixel)
	}
}

func defineNormalize() {
	ImageNormalize.Define(op.Spec[ImageNormalizeParams]{
		Traits: op.Traits{
			Doc: `ImageNormalize computes (data - mean) / std per channel.

Data has shape (c, h, w) or (n, c, h, w) with 1 or 3 channels.`,
			Aliases: []string{"_npx__image_normalize"},
			Inplace: [][2]int{{0, 0}},
		},
		Infer: inferNormalize,
		Grad: func(g *op.Grad, p ImageNormalizeParams) []op.Entry {
			return []op.Entry{imageNormalizeGrad.Apply(p, g.Head(0))}
		},
		Ref: func(p ImageNormalizeParams, c *op.Call) error {
			return normalize(c, func(v float64, ch int) float64 {
				return (v - channel(p.Mean, ch)) / channel(p.Std, ch)
			})
		},
	})
	imageNormalizeGrad.Define(op.Spec[ImageNormalizeParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs: prim.Inputs[ImageNormalizeParams]("out_grad"),
		Infer:  inferNormalize,
		Grad: func(g *op.Grad, p ImageNormalizeParams) []op.Entry {
			return []op.Entry{imageNormalizeGrad.Apply(p, g.Head(0))}
		},
		Ref: func(p ImageNormalizeParams, c *op.Call) error {
			return normalize(c, func(v float64, ch int) float64 { return v / channel(p.Std, ch) })
		},
	})
}

func inferNormalize(p ImageNormalizeParams, in, out []dtype.Shape) error {
	if err := op.SameShape(p, in, out); err != nil {
		return err
	}
	s := in[0]
	if s == nil {
		return nil
	}
	if len(s) != 3 && len(s) != 4 {
		return op.Errorf("data", "shape %v, want (c, h, w) or (n, c, h, w)", s)
	}
	c := s[len(s)-3]
	if c != -1 && c != 1 && c != 3 {
		return op.Errorf("data", "shape %v, want 1 or 3 channels", s)
	}
	for _, a := range []struct {
		name string
		list []float64
	}{{"mean", p.Mean}, {"std", p.Std}} {
		// The defaults have four numbers; they are used for any number of channels.
		if n := len(a.list); n != 1 && n != 4 && (n != 3 || c == 1) {
			return op.Errorf(a.name, "%v, want one number for each channel of data %v, or one "+
				"for all", a.list, s)
		}
	}
	return nil
}

// channel returns the number for a channel.
func channel(list []float64, i int) float64 {
	if len(list) == 1 {
		return list[0]
	}
	return list[i]
}

// normalize writes f of every element and its channel.
func normalize(c *op.Call, f func(v float64, channel int) float64) error {
	s := c.In[0].Shape
	channels, plane := s[len(s)-3], s[len(s)-2]*s[len(s)-1]
	x := loop.Floats(c.In[0])
	for i, v := range x {
		x[i] = f(v, i/plane%channels)
	}
	loop.Store(c.Out[0], 0, x)
	return nil
}
