package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// ImageCropParams configures ImageCrop.
type ImageCropParams struct {
	X      int `op:"x,required" min:"0" doc:"first column of the output in data"`
	Y      int `op:"y,required" min:"0" doc:"first row of the output in data"`
	Width  int `op:"width,required" min:"1" doc:"width of the output"`
	Height int `op:"height,required" min:"1" doc:"height of the output"`
}

// ImageCrop and its gradient, which reads only the shape of the data.
var (
	ImageCrop     = op.Declare[ImageCropParams]("_image_crop")
	imageCropGrad = op.Declare[ImageCropParams]("_backward_image_crop")
)

func init() {
	ImageCrop.Define(op.Spec[ImageCropParams]{
		Traits: op.Traits{
			Doc:     `ImageCrop cuts a rectangle out of images of shape (h, w, c) or (n, h, w, c) with 1 or 3 channels.`,
			Aliases: []string{"_npx__image_crop"},
			Moves:   true,
		},
		Infer: inferImageCrop,
		Grad: func(g *op.Grad, p ImageCropParams) []op.Entry {
			return []op.Entry{imageCropGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(p ImageCropParams, c *op.Call) error {
			loop.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), p.window(c.In[0]))
			return nil
		},
	})
	imageCropGrad.Define(op.Spec[ImageCropParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Moves: true},
		Inputs: prim.Inputs[ImageCropParams]("out_grad", "data"),
		Infer: func(p ImageCropParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			err := inferImageCrop(p, in[1:], in[:1])
			out[0] = in[1].Clone()
			return err
		},
		Grad: func(g *op.Grad, p ImageCropParams) []op.Entry {
			return []op.Entry{ImageCrop.Apply(p, g.Head(0)), {}}
		},
		Ref: func(p ImageCropParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			loop.Copy(c.In[0].Shape, p.window(c.Out[0]), loop.Dense(c.In[0]))
			return nil
		},
	})
}

// window returns a view of the rectangle of t that is the output.
func (p ImageCropParams) window(t op.Tensor) loop.View {
	v := loop.Dense(t)
	row := len(t.Shape) - 3
	v.Off = p.Y*v.Strides[row] + p.X*v.Strides[row+1]
	return v
}

// resized returns the shape s of images, of the given rank, with another height and width.
func resized(s dtype.Shape, rank, h, w int) dtype.Shape {
	if s = s.Clone(); len(s) != rank {
		s = featureMap()[:rank]
	}
	s[rank-3], s[rank-2] = h, w
	return s
}

func inferImageCrop(p ImageCropParams, in, out []dtype.Shape) error {
	x, y := &in[0], &out[0]
	if *x == nil && *y == nil {
		return nil
	}
	rank := max(len(*x), len(*y))
	if rank != 3 && rank != 4 {
		return op.Errorf("data", "shape %v, want (h, w, c) or (n, h, w, c)", *x)
	}
	if err := op.Require("output", y, resized(*x, rank, p.Height, p.Width)); err != nil {
		return err
	}
	if err := op.Require("data", x, resized(*y, rank, -1, -1)); err != nil {
		return err
	}
	s := *x
	if c := s[rank-1]; c != -1 && c != 1 && c != 3 {
		return op.Errorf("data", "shape %v, want 1 or 3 channels", s)
	}
	if w := s[rank-2]; w != -1 && p.X+p.Width > w {
		return op.Errorf("width", "%d from column %d on, want at most what data %v has", p.Width,
			p.X, s)
	}
	if h := s[rank-3]; h != -1 && p.Y+p.Height > h {
		return op.Errorf("height", "%d from row %d on, want at most what data %v has", p.Height,
			p.Y, s)
	}
	return nil
}
