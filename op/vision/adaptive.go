package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// AdaptiveAvgPooling2DParams configures AdaptiveAvgPooling2D.
type AdaptiveAvgPooling2DParams struct {
	OutputSize []int `op:"output_size" doc:"height and width of the output; one number is used for both, no number means 1"`
}

// AdaptiveAvgPooling2D and its gradient, which reads only the shape of the data.
var (
	AdaptiveAvgPooling2D = op.Declare[AdaptiveAvgPooling2DParams]("_contrib_AdaptiveAvgPooling2D")
	adaptiveGrad         = op.Declare[AdaptiveAvgPooling2DParams](
		"_backward_contrib_AdaptiveAvgPooling2D")
)

func init() {
	AdaptiveAvgPooling2D.Define(op.Spec[AdaptiveAvgPooling2DParams]{
		Traits: op.Traits{
			GoName: "AdaptiveAvgPooling2D",
			Doc: `AdaptiveAvgPooling2D averages data of shape (n, c, h, w) over windows for an output of a given size.

Element i of m along an axis of n elements is the average from floor(i·n/m) up to ceil((i+1)·n/m).`,
			Kind: op.Pooling,
		},
		Infer:     inferAdaptive,
		InferType: op.FloatType[AdaptiveAvgPooling2DParams],
		Grad: func(g *op.Grad, p AdaptiveAvgPooling2DParams) []op.Entry {
			return []op.Entry{adaptiveGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: inType(adaptive[float32], adaptive[float64]),
	})
	adaptiveGrad.Define(op.Spec[AdaptiveAvgPooling2DParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: prim.Inputs[AdaptiveAvgPooling2DParams]("out_grad", "data"),
		Infer: func(p AdaptiveAvgPooling2DParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			err := inferAdaptive(p, in[1:], in[:1])
			out[0] = in[1].Clone()
			return err
		},
		InferType: op.FloatType[AdaptiveAvgPooling2DParams],
		Grad: prim.Adjoint(func(_ *op.Grad, p AdaptiveAvgPooling2DParams, h op.Entry) op.Entry {
			return AdaptiveAvgPooling2D.Apply(p, h)
		}),
		Ref: inType(adaptiveBack[float32], adaptiveBack[float64]),
	})
}

// size returns height and width of the output.
func (p AdaptiveAvgPooling2DParams) size() (h, w int) {
	switch len(p.OutputSize) {
	case 1:
		return p.OutputSize[0], p.OutputSize[0]
	case 2:
		return p.OutputSize[0], p.OutputSize[1]
	}
	return 1, 1
}

func inferAdaptive(p AdaptiveAvgPooling2DParams, in, out []dtype.Shape) error {
	h, w := p.size()
	if err := twoSizes("output_size", []int{h, w}); err != nil {
		return err
	}
	return inferPlanes(&in[0], &out[0], h, w)
}

// inferPlanes infers the shapes of feature maps and of an output with the same images and channels
// and planes of height h and width w, -1 if unknown.
func inferPlanes(data, output *dtype.Shape, h, w int) error {
	if err := op.Require("data", data, featureMap()); err != nil {
		return err
	}
	if err := op.Require("output", output, dtype.Shape{(*data)[0], (*data)[1], h, w}); err != nil {
		return err
	}
	(*data)[0], (*data)[1] = (*output)[0], (*output)[1]
	return nil
}

// eachAverage calls f for the windows of all planes: element i of the output is the average of the
// given window of the plane that begins at first; count is the number of elements of the window.
func eachAverage(data, out dtype.Shape, f func(i, first int, w window, count int)) {
	h, w := out[2], out[3]
	for i := range out.Size() {
		row, col := i/w%h, i%w
		var win window
		win.top, win.bottom = row*data[2]/h, ((row+1)*data[2]+h-1)/h
		win.left, win.right = col*data[3]/w, ((col+1)*data[3]+w-1)/w
		f(i, i/(h*w)*data[2]*data[3], win, (win.bottom-win.top)*(win.right-win.left))
	}
}

func adaptive[T float](_ AdaptiveAvgPooling2DParams, c *op.Call) error {
	x, y, s := read[T](c.In[0]), blank[T](c.Out[0]), c.In[0].Shape
	eachAverage(s, c.Out[0].Shape, func(i, first int, w window, count int) {
		var sum T
		for row := w.top; row < w.bottom; row++ {
			for _, v := range x[first+row*s[3]+w.left : first+row*s[3]+w.right] {
				sum += v
			}
		}
		y[i] = sum / T(count)
	})
	store(c.Out[0], y)
	return nil
}

func adaptiveBack[T float](_ AdaptiveAvgPooling2DParams, c *op.Call) error {
	dy, dx, s := read[T](c.In[0]), blank[T](c.Out[0]), c.Out[0].Shape
	eachAverage(s, c.In[0].Shape, func(i, first int, w window, count int) {
		for row := w.top; row < w.bottom; row++ {
			for col := w.left; col < w.right; col++ {
				dx[first+row*s[3]+col] += dy[i] / T(count)
			}
		}
	})
	store(c.Out[0], dx)
	return nil
}
