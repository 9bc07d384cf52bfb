package nn

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// SoftmaxActivationParams configures SoftmaxActivation.
type SoftmaxActivationParams struct {
	Mode string `op:"mode" default:"instance" enum:"instance|channel" doc:"what sums to one: all elements of a sample, or the channels of a position"`
}

// SoftmaxActivation is the softmax of samples or of channels.
var SoftmaxActivation = op.Declare[SoftmaxActivationParams]("SoftmaxActivation")

// SoftmaxActivationGrad is the gradient of SoftmaxActivation: from the gradient of the output and
// the output to the gradient of the data.
var SoftmaxActivationGrad = op.Declare[SoftmaxActivationParams]("_backward_SoftmaxActivation")

func init() {
	SoftmaxActivation.Define(op.Spec[SoftmaxActivationParams]{
		Doc: `SoftmaxActivation is the softmax over all elements of a sample, or over its channels at each position.

MXNet keeps it for old models; softmax with an axis is the general form.`,
		Infer:     minAxes[SoftmaxActivationParams](2),
		InferType: op.FloatType[SoftmaxActivationParams],
		Grad: func(g *op.Grad, p SoftmaxActivationParams) []op.Entry {
			return []op.Entry{SoftmaxActivationGrad.Apply(p, g.Head(0), g.Out(0))}
		},
		Inplace: [][2]int{{0, 0}},
		Ref: func(p SoftmaxActivationParams, c *op.Call) error {
			x := loop.Floats(c.In[0])
			eachClasses(p, c.In[0], func(at, n, by int) { softmax(x[at:], n, by) })
			loop.Store(c.Out[0], 0, x)
			return nil
		},
	})
	SoftmaxActivationGrad.Define(op.Spec[SoftmaxActivationParams]{
		Hidden:    true,
		Inputs:    inputs[SoftmaxActivationParams]("out_grad", "output"),
		Infer:     minAxes[SoftmaxActivationParams](2),
		InferType: op.FloatType[SoftmaxActivationParams],
		Grad:      softmaxActivationSecond,
		Inplace:   [][2]int{{0, 0}, {1, 0}},
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

// eachClasses visits the runs of elements that sum to one: n elements from at on, by apart.
func eachClasses(p SoftmaxActivationParams, t op.Tensor, f func(at, n, by int)) {
	v := newChannels(t.Shape, 1)
	if p.Mode == "instance" {
		v.count, v.inner = v.count*v.inner, 1
	}
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
