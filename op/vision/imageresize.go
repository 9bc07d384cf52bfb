package vision

import (
	"gomx/dtype"
	"gomx/io/image"
	"gomx/op"
)

// ImageResizeParams configures ImageResize.
type ImageResizeParams struct {
	Size      []int       `op:"size" doc:"width and height of the output, or one number for both"`
	KeepRatio bool        `op:"keep_ratio" doc:"if size is one number: the length of the shorter side, and the other side keeps the ratio"`
	Interp    op.Opt[int] `op:"interp" default:"1" min:"0" max:"4" doc:"interpolation: 0 nearest element, 1 linear, 2 cubic, 3 mean of the covered area, 4 Lanczos"`
}

// ImageResize changes the size of images.
var ImageResize = op.Declare[ImageResizeParams]("_image_resize")

func init() {
	ImageResize.Define(op.Spec[ImageResizeParams]{
		Traits: op.Traits{
			Doc: `ImageResize changes the size of images as OpenCV does.

Data has shape (h, w, c) or (n, h, w, c), of uint8 or a floating-point type. Bytes are
interpolated in whole numbers and limited to 0 … 255, floating-point numbers in float32 and not
limited.`,
			Aliases: []string{"_npx__image_resize"},
			NoGrad:  "images are resized before training",
		},
		Infer:     inferImageResize,
		InferType: imageType,
		Ref:       resizeImages,
	})
}

// imageType infers one element type: uint8 or a floating-point type.
func imageType(p ImageResizeParams, in, out []dtype.Type) error {
	if err := op.SameType(p, in, out); err != nil {
		return err
	}
	if t := in[0]; t != dtype.Unknown && t != dtype.Uint8 && !t.IsFloat() {
		return op.Errorf("data", "element type %v, want uint8 or a floating-point type", t)
	}
	return nil
}

func inferImageResize(p ImageResizeParams, in, out []dtype.Shape) error {
	if n := len(p.Size); n != 1 && n != 2 || p.Size[0] < 1 || p.Size[n-1] < 1 {
		return op.Errorf("size", "%v, want a width and a height or one number, from 1 on",
			dtype.Shape(p.Size))
	}
	for i, s := range []dtype.Shape{in[0], out[0]} {
		if s != nil && len(s) != 3 && len(s) != 4 {
			return op.Errorf([]string{"data", "output"}[i],
				"shape %v, want an image or a batch of images: 3 or 4 axes", s)
		}
	}
	if in[0] == nil {
		return nil
	}
	s := in[0].Clone()
	at := len(s) - 3
	if s[at] == 0 || s[at+1] == 0 || s[at+2] == 0 {
		return op.Errorf("data", "shape %v, want at least one element to resize", in[0])
	}
	s[at], s[at+1] = p.extents(s[at], s[at+1])
	if s[at] == 0 || s[at+1] == 0 {
		return op.Errorf("size", "%v, want at least one row and column in the output: data has "+
			"the shape %v", dtype.Shape(p.Size), in[0])
	}
	if err := op.Require("output", &out[0], s); err != nil {
		return err
	}
	back := out[0].Clone()
	back[at], back[at+1] = -1, -1
	return op.Require("data", &in[0], back)
}

// extents returns the height and width of the output, -1 where they depend on unknown extents.
func (p ImageResizeParams) extents(h, w int) (height, width int) {
	size := p.Size[0]
	switch {
	case len(p.Size) == 2:
		return p.Size[1], size
	case !p.KeepRatio:
		return size, size
	case h == -1 || w == -1:
		return -1, -1
	case h > w:
		return h * size / w, size
	}
	return size, w * size / h
}

func resizeImages(p ImageResizeParams, c *op.Call) error {
	by, err := image.InterpOf(p.Interp.Value())
	if err != nil {
		return err
	}
	in, out := c.In[0].Shape, c.Out[0].Shape
	k := len(in) - 3
	from, to := in[k:].Size(), out[k:].Size()
	if c.In[0].DType == dtype.Uint8 {
		x, y := op.Slice[uint8](c.In[0]), op.Slice[uint8](c.Out[0])
		for i := range in[:k].Size() {
			m := image.Image{Pix: x[i*from : (i+1)*from], Height: in[k], Width: in[k+1],
				Channels: in[k+2]}
			copy(y[i*to:], m.Resize(out[k+1], out[k], by).Pix)
		}
		return nil
	}
	x, y := read[float32](c.In[0]), blank[float32](c.Out[0])
	for i := range in[:k].Size() {
		m := image.Floats{Pix: x[i*from : (i+1)*from], Height: in[k], Width: in[k+1],
			Channels: in[k+2]}
		copy(y[i*to:], m.Resize(out[k+1], out[k], by).Pix)
	}
	store(c.Out[0], y)
	return nil
}
