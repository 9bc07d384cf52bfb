package prim

import (
	"gomx/dtype"
	"gomx/op"
)

// ConstantParams configures Constant.
type ConstantParams struct {
	Shape []int      `op:"shape" doc:"shape of the array; none: a scalar"`
	DType dtype.Type `op:"dtype" doc:"element type"`
	Data  string     `op:"data" doc:"the elements as they lie in memory"`
}

// Constant is an array known when the graph is compiled. Only passes make it; executors copy its
// elements once.
var Constant = op.Declare[ConstantParams]("_constant")

func init() {
	Constant.Define(op.Spec[ConstantParams]{
		Traits: op.Traits{Hidden: true, Derived: true, NoGrad: "it is made after the gradient",
			Moves: true},
		Inputs: Inputs[ConstantParams](),
		Infer: func(p ConstantParams, _, out []dtype.Shape) error {
			s := append(dtype.Shape{}, p.Shape...)
			if !p.DType.Valid() || !s.Known() || s.Size()*p.DType.Size() != len(p.Data) {
				return op.Errorf("data", "%d bytes for shape %v of %v", len(p.Data), s, p.DType)
			}
			return op.Require("output", &out[0], s)
		},
		InferType: func(p ConstantParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], p.DType)
		},
		Ref: func(p ConstantParams, c *op.Call) error {
			b := op.Slice[byte](op.Tensor{Desc: op.Plain(dtype.Uint8, dtype.Shape{len(p.Data)}),
				Data: c.Out[0].Data})
			copy(b, p.Data)
			return nil
		},
	})
}
