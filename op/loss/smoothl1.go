package loss

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// SmoothL1Params configures SmoothL1.
type SmoothL1Params struct {
	Scalar op.Opt[float64] `op:"scalar" default:"1" doc:"σ: the loss is quadratic for |x| < 1/σ²"`
	IsInt  bool            `op:"is_int" doc:"accepted for compatibility, without effect"`
}

// The smooth absolute value.
var (
	// SmoothL1 is quadratic near zero and linear elsewhere.
	SmoothL1 = op.Declare[SmoothL1Params]("smooth_l1")
	// SmoothL1Grad is its gradient: its inputs are the gradient of the output and data, its output
	// is the gradient of data.
	SmoothL1Grad = op.Declare[SmoothL1Params]("_backward_smooth_l1")
)

func init() {
	SmoothL1.Define(op.Spec[SmoothL1Params]{
		Traits: op.Traits{
			Doc:       `SmoothL1 (smooth_l1) is (σx)²/2 for |x| < 1/σ², and |x| - 1/(2σ²) otherwise.`,
			Aliases:   []string{"_npx_smooth_l1"},
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
			Kind:      op.Loss,
		},
		Infer:     op.SameShape[SmoothL1Params],
		InferType: op.FloatType[SmoothL1Params],
		Grad: func(g *op.Grad, p SmoothL1Params) []op.Entry {
			return []op.Entry{SmoothL1Grad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(p SmoothL1Params, c *op.Call) error {
			s2 := p.Scalar.Value() * p.Scalar.Value()
			loop.Map(loop.Func1{F: func(x float64) float64 {
				if a := math.Abs(x); a > 1/s2 {
					return a - 0.5/s2
				}
				return 0.5 * s2 * x * x
			}}, c.Out[0], c.In[0])
			return nil
		},
	})
	SmoothL1Grad.Define(op.Spec[SmoothL1Params]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}, {1, 0}}},
		Inputs: func(SmoothL1Params) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "data"}}
		},
		Infer:     op.SameShape[SmoothL1Params],
		InferType: op.FloatType[SmoothL1Params],
		Grad: func(g *op.Grad, p SmoothL1Params) []op.Entry {
			s2 := p.Scalar.Value() * p.Scalar.Value()
			h, dy, x := g.Head(0), g.In(0), g.In(1)
			curved := prim.LesserScalar.Apply(number(1),
				prim.Abs.Apply(none, prim.MulScalar.Apply(number(s2), x)))
			return []op.Entry{SmoothL1Grad.Apply(p, h, x),
				mul(mul(h, dy), prim.MulScalar.Apply(number(s2), curved))}
		},
		Ref: func(p SmoothL1Params, c *op.Call) error {
			s2 := p.Scalar.Value() * p.Scalar.Value()
			loop.Zip(loop.Func2{F: func(g, x float64) float64 { return g * min(max(s2*x, -1), 1) }},
				c.Out[0], c.In[0], c.In[1])
			return nil
		},
	})
}
