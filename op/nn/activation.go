package nn

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// ActivationParams configures Activation.
type ActivationParams struct {
	ActType string `op:"act_type,required" enum:"relu|sigmoid|tanh|softrelu|softsign" doc:"the function"`
}

// Activation applies a function element by element.
var Activation = op.Declare[ActivationParams]("Activation")

// ActivationGrad is the gradient of Activation: from the gradient of the output and the output
// (softsign: the data) to the gradient of the data.
var ActivationGrad = op.Declare[ActivationParams]("_backward_Activation")

func init() {
	Activation.Define(op.Spec[ActivationParams]{
		Traits: op.Traits{
			Doc: `Activation applies a function element by element.

relu is max(x, 0), sigmoid 1/(1+exp(-x)), softrelu log(1+exp(x)), softsign x/(1+|x|).

NaN stays NaN and has the gradient NaN. relu of MXNet with oneDNN gives 0 for both, as its operator
relu does not.`,
			Aliases:   []string{"_npx_activation"},
			Inplace:   [][2]int{{0, 0}},
			Pointwise: true,
		},
		Infer:     op.SameShape[ActivationParams],
		InferType: op.FloatType[ActivationParams],
		Grad: func(g *op.Grad, p ActivationParams) []op.Entry {
			saved := g.Out(0)
			if p.ActType == "softsign" {
				saved = g.In(0)
			}
			return []op.Entry{ActivationGrad.Apply(p, g.Head(0), saved)}
		},
		PrecisionOf: func(p ActivationParams) op.Precision {
			if p.ActType == "softrelu" {
				return op.Wide
			}
			return op.AnyPrecision
		},
		Ref: func(p ActivationParams, c *op.Call) error {
			loop.Map(loop.Func1{F: activations[p.ActType].value}, c.Out[0], c.In[0])
			return nil
		},
	})
	ActivationGrad.Define(op.Spec[ActivationParams]{
		Traits:    op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}, {1, 0}}, Pointwise: true},
		Inputs:    inputs[ActivationParams]("out_grad", "saved"),
		Infer:     op.SameShape[ActivationParams],
		InferType: op.FloatType[ActivationParams],
		Grad:      activationSecond,
		Ref: func(p ActivationParams, c *op.Call) error {
			slope := activations[p.ActType].slope
			loop.Zip(loop.Func2{F: func(g, saved float64) float64 { return g * slope(saved) }},
				c.Out[0], c.In[0], c.In[1])
			return nil
		},
	})
}

// activation is a function with its derivative, the latter in terms of the function's value
// (softsign: of its argument).
type activation struct{ value, slope func(v float64) float64 }

var activations = map[string]activation{
	"relu": {
		func(x float64) float64 {
			if x > 0 || math.IsNaN(x) {
				return x
			}
			return 0
		},
		func(y float64) float64 {
			switch {
			case y > 0:
				return 1
			case math.IsNaN(y):
				return y
			}
			return 0
		},
	},
	"sigmoid": {sigmoid, func(y float64) float64 { return y * (1 - y) }},
	"tanh":    {math.Tanh, func(y float64) float64 { return 1 - y*y }},
	"softrelu": {
		func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
		func(y float64) float64 { return -math.Expm1(-y) },
	},
	"softsign": {
		func(x float64) float64 { return x / (1 + math.Abs(x)) },
		func(x float64) float64 { return 1 / ((1 + math.Abs(x)) * (1 + math.Abs(x))) },
	},
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
