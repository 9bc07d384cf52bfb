package tensor

import (
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// HardSigmoidParams are the parameters of HardSigmoid.
type HardSigmoidParams struct {
	Alpha op.Opt[float64] `op:"alpha" default:"0.2" doc:"slope"`
	Beta  op.Opt[float64] `op:"beta" default:"0.5" doc:"value at zero"`
}

// HardSigmoid is a sigmoid made of straight lines.
var HardSigmoid = op.Declare[HardSigmoidParams]("hard_sigmoid")

func init() {
	HardSigmoid.Define(op.Spec[HardSigmoidParams]{
		Traits: op.Traits{
			Doc:     "HardSigmoid computes αx + β, limited to the range from 0 to 1.",
			Inplace: [][2]int{{0, 0}},
		},
		Infer: op.SameShape[HardSigmoidParams],
		Grad: func(g *op.Grad, p HardSigmoidParams) []op.Entry {
			y := g.Out(0)
			above := prim.GreaterScalar.Apply(prim.ScalarParams{}, y)
			below := prim.LesserScalar.Apply(prim.ScalarParams{Scalar: 1}, y)
			slope := prim.MulScalar.Apply(prim.ScalarParams{Scalar: p.Alpha.Value()}, g.Head(0))
			inside := prim.ElemwiseMul.Apply(op.NoParams{}, above, below)
			return []op.Entry{prim.ElemwiseMul.Apply(op.NoParams{}, slope, inside)}
		},
		Ref: func(p HardSigmoidParams, c *op.Call) error {
			loop.Map(loop.Func1{F: func(x float64) float64 {
				return max(0, min(1, p.Alpha.Value()*x+p.Beta.Value()))
			}}, c.Out[0], c.In[0])
			return nil
		},
	})
}
