package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BatchNormReLU is BatchNorm and a rectifier.
var BatchNormReLU = op.Declare[BatchNormParams]("_contrib_BatchNormWithReLU")

func init() {
	BatchNormReLU.Define(op.Spec[BatchNormParams]{
		Traits: op.Traits{
			Doc: `ContribBatchNormWithReLU is BatchNorm followed by max(x, 0), as one operator.

Parameters, auxiliary states and further outputs are those of BatchNorm.`,
			Inplace: [][2]int{{0, 0}},
			Mutates: []int{3, 4},
			Kind:    op.Normalization,
		},
		Inputs:  batchNormInputs,
		Outputs: func(BatchNormParams) []string { return []string{"output", "mean", "var"} },
		Visible: func(p BatchNormParams) int { return visibleStats(p.OutputMeanVar) },
		Infer:   inferBatchNorm,
		InferType: func(_ BatchNormParams, in, out []dtype.Type) error {
			return statsType(in[:1], out[:1], in[1:], out[1:])
		},
		Grad: func(g *op.Grad, p BatchNormParams) []op.Entry {
			dy := prim.ReluGrad.Apply(op.NoParams{}, g.Head(0), g.Out(0))
			return g.Each(BatchNormGrad.Node(p, dy, g.In(0), g.In(1), g.Out(1), g.Out(2)))
		},
		FLOPs: func(_ BatchNormParams, in, _ []dtype.Shape) int64 {
			return 3 * int64(in[0].Size())
		},
		Ref: func(p BatchNormParams, c *op.Call) error {
			y, means, invs := batchNorm(p, c)
			rectified := activations["relu"].value
			for i, v := range y {
				y[i] = rectified(v)
			}
			return storeWanted(c, y, means, invs)
		},
	})
}

// batchNormInputs are the inputs of BatchNorm.
func batchNormInputs(BatchNormParams) []op.Input {
	return []op.Input{{Name: "data"}, {Name: "gamma", Role: op.Param},
		{Name: "beta", Role: op.Param},
		{Name: "moving_mean", Role: op.Aux, Init: `["zero", {}]`},
		{Name: "moving_var", Role: op.Aux, Init: `["one", {}]`}}
}
