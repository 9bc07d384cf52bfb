package prim

import (
	"gomx/dtype"
	"gomx/op"
)

// The operators that mixed precision adds to graphs.
var (
	// ScaleGradient passes its data on; gradients that come back are multiplied by its second
	// input, a number in an array.
	ScaleGradient = op.Declare[op.NoParams]("_scale_gradient")
	// KeptCast converts a parameter to another element type; its result is kept until the
	// parameter changes.
	KeptCast = op.Declare[CastParams]("_kept_cast")
)

func init() {
	ScaleGradient.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Identity: true, Ignores: []int{1},
			Inplace: [][2]int{{0, 0}}},
		Inputs: Inputs[op.NoParams]("data", "factor"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			return op.Require("factor", &in[1], dtype.Shape{1})
		},
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{BroadcastMul.Apply(none, g.Head(0), g.In(1)), {}}
		},
		Ref: move[op.NoParams],
	})
	KeptCast.Define(op.Spec[CastParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it serves inference", Derived: true},
		Infer:  op.SameShape[CastParams],
		InferType: func(p CastParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], p.DType)
		},
		Ref: func(_ CastParams, c *op.Call) error { return convert(c) },
	})
}
