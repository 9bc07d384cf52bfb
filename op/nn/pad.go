package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// PadParams configures Pad.
type PadParams struct {
	Mode          string  `op:"mode,required" enum:"constant|edge|reflect" doc:"what is added: a constant, the nearest element, the mirror image without the edge"`
	PadWidth      []int   `op:"pad_width,required" doc:"elements added before and after each axis: (before_1, after_1, before_2, ...)"`
	ConstantValue float64 `op:"constant_value" doc:"the constant"`
}

// Pad adds elements around the spatial axes.
var Pad = op.Declare[PadParams]("Pad")

// PadGrad is the gradient of Pad: from the gradient of the output to the gradient of the data.
var PadGrad = op.Declare[PadParams]("_backward_Pad")

func init() {
	Pad.Define(op.Spec[PadParams]{
		Traits: op.Traits{
			Doc: `Pad adds elements around the spatial axes of data of shape (n, c, h, w) or (n, c, d, h, w).

pad_width has two numbers per axis; those of the first two axes are zero.`,
			Aliases: []string{"pad"},
			Moves:   true,
		},
		Infer:     inferPad,
		InferType: op.SameType[PadParams],
		Grad: func(g *op.Grad, p PadParams) []op.Entry {
			return []op.Entry{PadGrad.Apply(p, g.Head(0))}
		},
		Ref: padRef,
	})
	PadGrad.Define(op.Spec[PadParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: inputs[PadParams]("out_grad"),
		Infer: func(p PadParams, in, out []dtype.Shape) error {
			return inferPad(p, out, in)
		},
		InferType: op.SameType[PadParams],
		Grad: prim.Adjoint(func(_ *op.Grad, p PadParams, h op.Entry) op.Entry {
			p.ConstantValue = 0
			return Pad.Apply(p, h)
		}),
		Ref: padGradRef,
	})
}

func inferPad(p PadParams, in, out []dtype.Shape) error {
	n := len(p.PadWidth)
	if n != 8 && n != 10 {
		return op.Errorf("pad_width", "%v, want 8 or 10 numbers for data of 4 or 5 axes",
			p.PadWidth)
	}
	for i, v := range p.PadWidth {
		if v < 0 || i < 4 && v != 0 {
			return op.Errorf("pad_width",
				"%v, want zeros for the first two axes and no negative numbers", p.PadWidth)
		}
	}
	if err := op.Require("data", &in[0], unknown(n/2)); err != nil {
		return err
	}
	x, y := unknown(n/2), unknown(n/2)
	for a, d := range in[0] {
		if d != -1 {
			y[a] = d + p.PadWidth[2*a] + p.PadWidth[2*a+1]
		}
		if widest := max(p.PadWidth[2*a], p.PadWidth[2*a+1]); p.Mode == "reflect" && d != -1 &&
			widest >= d && widest > 0 {
			return op.Errorf("pad_width",
				"%v, want less than the extents of data %v in mode reflect", p.PadWidth, in[0])
		}
	}
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	for a, d := range out[0] {
		if d != -1 {
			x[a] = d - p.PadWidth[2*a] - p.PadWidth[2*a+1]
		}
		if x[a] < -1 || x[a] == -1 && d != -1 {
			return op.Errorf("output", "shape %v, less than pad_width %v adds", out[0], p.PadWidth)
		}
	}
	return op.Require("data", &in[0], x)
}

// eachPadded visits all elements of the output with the element of data that each comes from, -1
// for the constant.
func eachPadded(p PadParams, data, output dtype.Shape, f func(out, in int)) {
	st := data.Strides()
	source := make([][]int, len(data)) // per axis and position, the offset in data
	for a, n := range data {
		source[a] = make([]int, output[a])
		for i := range source[a] {
			source[a][i] = padSource(p.Mode, i-p.PadWidth[2*a], n) * st[a]
		}
	}
	out := output.Strides()
	for i := range output.Size() {
		in := 0
		for a := range output {
			s := source[a][i/out[a]%output[a]]
			if s < 0 {
				in = -1
				break
			}
			in += s
		}
		f(i, in)
	}
}

// padSource returns which of n elements stands at position i, which may lie outside.
func padSource(mode string, i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	switch mode {
	case "edge":
		return min(max(i, 0), n-1)
	case "reflect":
		if i < 0 {
			return -i
		}
		return 2*(n-1) - i
	}
	return -1
}

func padRef(p PadParams, c *op.Call) error {
	x, y := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
	eachPadded(p, c.In[0].Shape, c.Out[0].Shape, func(out, in int) {
		y[out] = p.ConstantValue
		if in >= 0 {
			y[out] = x[in]
		}
	})
	loop.Store(c.Out[0], 0, y)
	return nil
}

func padGradRef(p PadParams, c *op.Call) error {
	dy, dx := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
	eachPadded(p, c.Out[0].Shape, c.In[0].Shape, func(out, in int) {
		if in >= 0 {
			dx[in] += dy[out]
		}
	})
	loop.Store(c.Out[0], 0, dx)
	return nil
}
