package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// linkParams say how the output of a loss follows from its data.
type linkParams struct {
	Link    string `op:"link,required" enum:"identity|sigmoid|softmax" doc:"the function"`
	Axis    []int  `op:"axis" doc:"axes that a softmax sums to one over"`
	Exclude bool   `op:"exclude" doc:"over all axes but those"`
}

// lossValue is the output of a loss, its first input, as a function of the data, its second one. The gradient of a loss is
// not that of its output; where a gradient is differentiated in turn, the output stands for this function.
var lossValue = op.Declare[linkParams]("_loss_value")

func init() {
	lossValue.Define(op.Spec[linkParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{1}, Identity: true, Inplace: [][2]int{{0, 0}}},
		Inputs:    prim.Inputs[linkParams]("output", "data"),
		Infer:     op.SameShape[linkParams],
		InferType: op.FloatType[linkParams],
		Grad: func(g *op.Grad, p linkParams) []op.Entry {
			h, y := g.Head(0), g.Out(0)
			switch p.Link {
			case "sigmoid":
				h = mul(mul(h, y), prim.RMinusScalar.Apply(number(1), y))
			case "softmax":
				over := prim.ReduceParams{Axis: p.Axis, Exclude: p.Exclude, KeepDims: true}
				h = mul(y, prim.BroadcastSub.Apply(none, h, prim.Sum.Apply(over, mul(h, y))))
			}
			return []op.Entry{{}, h}
		},
		Ref: pass[linkParams],
	})
}

// lossInputs lists the inputs of the gradients of losses.
func lossInputs[P any](P) []op.Input {
	return []op.Input{{Name: "output"}, {Name: "label"}, {Name: "data"}}
}

// lossShapes infers these inputs and the gradient from the inference of the loss.
func lossShapes[P any](infer func(p P, in, out []dtype.Shape) error) func(p P, in, out []dtype.Shape) error {
	return func(p P, in, out []dtype.Shape) error {
		for _, s := range []*dtype.Shape{&in[2], &out[0]} {
			if err := op.Same("gradient", &in[0], s); err != nil {
				return err
			}
		}
		err := infer(p, in[:2], out)
		in[2] = in[0].Clone()
		return err
	}
}
