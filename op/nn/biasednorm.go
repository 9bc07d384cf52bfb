package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// BiasedBatchNorm is BatchNorm of data plus a bias per channel. In training the bias changes the
// moving mean alone, and has no gradient; the mean among the outputs is that of the data. A pass
// makes it of the bias of the layer before.
var BiasedBatchNorm = op.Declare[BatchNormParams]("_biased_BatchNorm")

// normBias is the index of the bias among the inputs of BiasedBatchNorm.
const normBias = 5

func init() {
	BiasedBatchNorm.Define(op.Spec[BatchNormParams]{
		Traits: op.Traits{Hidden: true, Layouts: true,
			Doc:     "BiasedBatchNorm is BatchNorm of data plus a bias per channel.",
			Inplace: [][2]int{{0, 0}}, Mutates: []int{3, 4},
			Kind: op.Normalization,
			Once: "the pass that makes the operator leaves alone what is differentiated twice"},
		Inputs: func(p BatchNormParams) []op.Input {
			return append(batchNormInputs(p), op.Input{Name: "bias", Role: op.Param})
		},
		Outputs: func(BatchNormParams) []string { return []string{"output", "mean", "var"} },
		Visible: func(p BatchNormParams) int { return visibleStats(p.OutputMeanVar) },
		Infer: func(p BatchNormParams, in, out []dtype.Shape) error {
			if err := inferBatchNorm(p, in[:normBias], out); err != nil {
				return err
			}
			return op.Same("bias", &in[1], &in[normBias])
		},
		InferType: func(_ BatchNormParams, in, out []dtype.Type) error {
			return statsType(in[:1], out[:1], in[1:], out[1:])
		},
		Grad: func(g *op.Grad, p BatchNormParams) []op.Entry {
			n := BatchNormGrad.Node(p, g.Head(0), g.In(0), g.In(1), g.Out(1), g.Out(2))
			return []op.Entry{n.Entry(0), n.Entry(1), n.Entry(2), {}, {}, {}}
		},
		Ref: func(p BatchNormParams, c *op.Call) error {
			bias, mean := loop.Floats(c.In[normBias]), loop.Floats(c.In[3])
			shifted := func(sign float64) {
				for i := range mean {
					mean[i] += sign * bias[i]
				}
				loop.Store(c.In[3], 0, mean)
			}
			shifted(-1)
			err := batchNormRef(p, c)
			mean = loop.Floats(c.In[3])
			shifted(1)
			return err
		},
	})
}
