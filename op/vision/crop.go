package vision

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// CropParams configures Crop.
type CropParams struct {
	NumArgs    int   `op:"num_args,auto" max:"16384" doc:"number of inputs"`
	Offset     []int `op:"offset" default:"(0, 0)" doc:"first row and column of the output in data"`
	HW         []int `op:"h_w" default:"(0, 0)" doc:"height and width of the output, for one input"`
	CenterCrop bool  `op:"center_crop" doc:"take the middle of data; offset is ignored"`
}

// Crop and its gradient, which reads only the shape of the data.
var (
	Crop     = op.Declare[CropParams]("Crop")
	cropGrad = op.Declare[CropParams]("_backward_Crop")
)

func init() {
	Crop.Define(op.Spec[CropParams]{
		Traits: op.Traits{
			Doc: `Crop cuts a rectangle out of feature maps of shape (n, c, h, w).

One input is cut to h_w; of two inputs the first is cut to the height and width of the second,
whose elements are not read and which gets no gradient.`,
			Variadic: true,
			Ignores:  []int{1},
			Moves:    true,
		},
		Inputs:    func(p CropParams) []op.Input { return cropInputs(max(p.NumArgs, 1)) },
		Infer:     inferCrop,
		InferType: firstType[CropParams],
		Grad: func(g *op.Grad, p CropParams) []op.Entry {
			in := make([]op.Entry, len(g.Node.In))
			in[0] = cropGrad.Apply(p, g.Head(0), g.In(0))
			return in
		},
		Ref: func(p CropParams, c *op.Call) error {
			y := c.Out[0]
			loop.Copy(y.Shape, loop.Dense(y), p.window(c.In[0], y.Shape))
			return nil
		},
	})
	cropGrad.Define(op.Spec[CropParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Moves: true},
		Inputs: prim.Inputs[CropParams]("out_grad", "data"),
		Infer: func(p CropParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			fwd := []dtype.Shape{in[1], nil}[:max(p.NumArgs, 1)]
			if err := inferCrop(p, fwd, in[:1]); err != nil {
				return err
			}
			in[1], out[0] = fwd[0], fwd[0].Clone()
			return nil
		},
		Grad: prim.Adjoint(func(g *op.Grad, p CropParams, h op.Entry) op.Entry {
			if p.NumArgs == 2 {
				return Crop.Apply(p, h, g.In(0))
			}
			return Crop.Apply(p, h)
		}),
		Ref: func(p CropParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			loop.Copy(c.In[0].Shape, p.window(c.Out[0], c.In[0].Shape), loop.Dense(c.In[0]))
			return nil
		},
	})
}

func cropInputs(n int) []op.Input {
	list := make([]op.Input, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("arg%d", i)
	}
	return list
}

// firstType infers one type for the first input and all outputs; other inputs may have any type.
func firstType[P any](p P, in, out []dtype.Type) error { return op.SameType(p, in[:1], out) }

// offset returns the first row and column of the output in data.
func (p CropParams) offset(data, kept dtype.Shape) (y, x int) {
	if p.CenterCrop {
		return (data[2] - kept[2]) / 2, (data[3] - kept[3]) / 2
	}
	return p.Offset[0], p.Offset[1]
}

// window returns a view of the rectangle of t that is the output.
func (p CropParams) window(t op.Tensor, kept dtype.Shape) loop.View {
	v := loop.Dense(t)
	y, x := p.offset(t.Shape, kept)
	v.Off = y*t.Shape[3] + x
	return v
}

func inferCrop(p CropParams, in, out []dtype.Shape) error {
	if err := op.Require("arg0", &in[0], featureMap()); err != nil {
		return err
	}
	y := dtype.Shape{in[0][0], in[0][1], -1, -1}
	switch len(in) {
	case 1:
		if err := twoSizes("h_w", p.HW); err != nil {
			return err
		}
		y[2], y[3] = p.HW[0], p.HW[1]
	case 2:
		if err := op.Require("arg1", &in[1], featureMap()); err != nil {
			return err
		}
		y[2], y[3] = in[1][2], in[1][3]
	default:
		return op.Errorf("num_args", "%d, want 1 or 2", len(in))
	}
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	in[0][0], in[0][1] = out[0][0], out[0][1]
	if len(in) == 2 {
		in[1][2], in[1][3] = out[0][2], out[0][3]
	}
	return p.fits(in[0], out[0])
}

// fits returns an error if the output exceeds data, as far as extents are known.
func (p CropParams) fits(data, kept dtype.Shape) error {
	if len(p.Offset) != 2 || p.Offset[0] < 0 || p.Offset[1] < 0 {
		return op.Errorf("offset", "%v, want a row and a column of at least 0",
			dtype.Shape(p.Offset))
	}
	for a := 2; a < 4; a++ {
		n, k := data[a], kept[a]
		if n == -1 || k == -1 {
			continue
		}
		if n < k {
			return op.Errorf("arg0", "shape %v is smaller than what shall be kept, %v", data, kept)
		}
		if off := p.Offset[a-2]; !p.CenterCrop && off > n-k {
			return op.Errorf("offset", "%v, want at most what data %v has more than is kept, %v",
				dtype.Shape(p.Offset), data, kept)
		}
	}
	return nil
}
