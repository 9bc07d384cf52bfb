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
	// KeptCasts is KeptCast for several parameters.
	KeptCasts = op.Declare[CastsParams]("_kept_casts")
	// Casts converts several arrays of one element type to another one.
	Casts = op.Declare[CastsParams]("_casts")
)

// CastsParams are the parameters of Casts and KeptCasts.
type CastsParams struct {
	DType      dtype.Type `op:"dtype,required" doc:"element type of the outputs"`
	NumOutputs int        `op:"num_outputs,auto" max:"16384" doc:"number of inputs and outputs"`
}

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
		Traits: op.Traits{Hidden: true, NoGrad: "it serves inference", Derived: true,
			Layouts: true},
		Infer: op.SameShape[CastParams],
		InferType: func(p CastParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], p.DType)
		},
		Ref: func(_ CastParams, c *op.Call) error { return convert(c) },
	})
	casts := op.Spec[CastsParams]{
		Traits: op.Traits{Hidden: true, Variadic: true, Multi: true, Layouts: true,
			NoGrad: "it is made after the gradient"},
		Inputs:  func(p CastsParams) []op.Input { return args(p.NumOutputs) },
		Outputs: func(p CastsParams) []string { return numbered(p.NumOutputs) },
		Infer:   func(_ CastsParams, in, out []dtype.Shape) error { return eachLike(in, out) },
		InferType: func(p CastsParams, _, out []dtype.Type) error {
			for i := range out {
				if err := requireType("output", &out[i], p.DType); err != nil {
					return err
				}
			}
			return nil
		},
		Ref: func(_ CastsParams, c *op.Call) error { return convertEach(c) },
	}
	Casts.Define(casts)
	casts.Derived = true
	KeptCasts.Define(casts)
}
