package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SoftmaxActivationParams configures SoftmaxActivation.
type SoftmaxActivationParams struct {
	Mode string `op:"mode" default:"instance" enum:"instance|channel" doc:"what sums to one: the elements along the last axis, or the channels of a position"`
}

// SoftmaxActivation is the softmax of samples or of channels.
var SoftmaxActivation = op.Declare[SoftmaxActivationParams]("SoftmaxActivation")

// SoftmaxActivationGrad is the gradient of SoftmaxActivation: from the gradient of the output and
// the output to the gradient of the data.
var SoftmaxActivationGrad = op.Declare[SoftmaxActivationParams]("_backward_SoftmaxActivation")

func init() {
	SoftmaxActivation.Define(op.Spec[SoftmaxActivationParams]{
		Traits: op.Traits{
			Doc: `SoftmaxActivation is the softmax along the last axis, or over the channels, axis 1, at each position.

MXNet keeps it for old models; softmax with an axis is the general form. Its documentation says that mode instance
normalizes all elements of a sample; what MXNet 1.9.1 computes, and this operator, is the softmax along the last axis.`,
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
		},
		Infer:     inferSoftmaxActivation,
		InferType: op.FloatType[SoftmaxActivationParams],
		Grad: func(g *op.Grad, p SoftmaxActivationParams) []op.Entry {
			return []op.Entry{SoftmaxActivationGrad.Apply(p, g.Head(0), g.Out(0))}
		},
		Ref: func(p SoftmaxActivationParams, c *op.Call) error {
			x := loop.Floats(c.In[0])
			eachClasses(p, c.In[0], func(at, n, by int) { softmax(x[at:], n, by) })
			loop.Store(c.Out[0], 0, x)
			return nil
		},
	})
	SoftmaxActivationGrad.Define(op.Spec[SoftmaxActivationParams]{
		Traits:    op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}, {1, 0}}},
		Inputs:    inputs[SoftmaxActivationParams]("out_grad", "output"),
		Infer:     inferSoftmaxActivation,
		InferType: op.FloatType[SoftmaxActivationParams],
		Grad:      softmaxActivationSecond,
		Ref: func(p SoftmaxActivationParams, c *op.Call) error {
			dy, y := loop.Floats(c.In[0]), loop.Floats(c.In[1])
			eachClasses(p, c.In[0], func(at, n, by int) {
				sum := 0.0
				for i := at; i < at+n*by; i += by {
					sum += dy[i] * y[i]
				}
				for i := at; i < at+n*by; i += by {
					dy[i] = y[i] * (dy[i] - sum)
				}
			})
			loop.Store(c.Out[0], 0, dy)
			return nil
		},
	})
}

// inferSoftmaxActivation wants an axis to normalize.
func inferSoftmaxActivation(p SoftmaxActivationParams, in, out []dtype.Shape) error {
	return minAxes[SoftmaxActivationParams](p.axis()+1)(p, in, out)
}

// axis is the axis that is normalized, 0 standing for the last one.
func (p SoftmaxActivationParams) axis() int {
	if p.Mode == "channel" {
		return 1
	}
	return 0
}

// classes is the view of data along the axis that is normalized.
func (p SoftmaxActivationParams) classes(s dtype.Shape) channels {
	if a := p.axis(); a > 0 {
		return newChannels(s, a)
	}
	return newChannels(s, len(s)-1)
}

// eachClasses visits the runs of elements that sum to one: n elements from at on, by apart.
func eachClasses(p SoftmaxActivationParams, t op.Tensor, f func(at, n, by int)) {
	v := p.classes(t.Shape)
	if v.count == 0 {
		return
	}
	for i := range v.outer * v.inner {
		f(i/v.inner*v.count*v.inner+i%v.inner, v.count, v.inner)
	}
}

// softmax replaces n elements, by apart, by their softmax.
func softmax(x []float64, n, by int) {
	top, sum := math.Inf(-1), 0.0
	for i := range n {
		top = math.Max(top, x[i*by])
	}
	for i := range n {
		x[i*by] = math.Exp(x[i*by] - top)
		sum += x[i*by]
	}
	for i := range n {
		x[i*by] /= sum
	}
}
