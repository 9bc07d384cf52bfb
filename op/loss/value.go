package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// linkParams describes the output of a loss as a function of its data.
type linkParams struct {
	Link    string `op:"link,required" enum:"identity|sigmoid|softmax" doc:"the function"`
	Axis    []int  `op:"axis" doc:"axes over which a softmax sums to one"`
	Exclude bool   `op:"exclude" doc:"sum over all axes except these"`
}

// lossValue returns the output of a loss, its first input, and is differentiated as a function of
// the data, its second input. Gradients of losses read the output; when such a gradient is
// differentiated in turn, lossValue replaces the output.
var lossValue = op.Declare[linkParams]("_loss_value")

func init() {
	lossValue.Define(op.Spec[linkParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Identity: true,
			Inplace: [][2]int{{0, 0}}},
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

// lossShapes infers the shapes of these inputs and of the gradient with the inference of the loss.
func lossShapes[P any](infer func(p P, in, out []dtype.Shape) error) func(p P, in,
	out []dtype.Shape) error {
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
