package nn

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// FusedBatchNormParams configures FusedBatchNorm.
type FusedBatchNormParams struct {
	Eps            op.Opt[float64] `op:"eps" default:"0.001" doc:"added to the variance"`
	Momentum       op.Opt[float64] `op:"momentum" default:"0.9" doc:"share of the old value in a moving average"`
	NoFixGamma     bool            `op:"fix_gamma,not" doc:"treat gamma as one and give it no gradient"`
	UseGlobalStats bool            `op:"use_global_stats" doc:"normalize by the moving averages in training too"`
	Sum            bool            `op:"sum" doc:"add another array before the rectifier"`
}

// FusedBatchNorm is BatchNorm of channels on axis 1, the sum with another array where that is asked
// for, and a rectifier. Passes for training make it.
var FusedBatchNorm = op.Declare[FusedBatchNormParams]("_fused_BatchNorm")

// FusedBatchNormGrad is the gradient of FusedBatchNorm: from the gradient of the output, data,
// gamma, beta, the statistics used and the output to the gradients of data, gamma, beta and the
// summand.
var FusedBatchNormGrad = op.Declare[FusedBatchNormParams]("_backward_fused_BatchNorm")

// FusedBatchNormOf returns the parameters of the fused operator that stands for BatchNorm with p.
func FusedBatchNormOf(p BatchNormParams, sum bool) FusedBatchNormParams {
	return FusedBatchNormParams{Eps: p.Eps, Momentum: p.Momentum, NoFixGamma: p.NoFixGamma,
		UseGlobalStats: p.UseGlobalStats, Sum: sum}
}

// plain returns the parameters of the batch norm alone.
func (p FusedBatchNormParams) plain() BatchNormParams {
	return BatchNormParams{Eps: p.Eps, Momentum: p.Momentum, NoFixGamma: p.NoFixGamma,
		UseGlobalStats: p.UseGlobalStats, Axis: op.Some(1)}
}

// The inputs of the gradient, and the index of the summand among the inputs of FusedBatchNorm.
const (
	normGradDY = iota
	normGradX
	normGradGamma
	normGradBeta
	normGradMean
	normGradInv
	normGradY
	normSum = 5
)

func init() {
	FusedBatchNorm.Define(op.Spec[FusedBatchNormParams]{
		Traits: op.Traits{
			Hidden: true,
			Doc: "FusedBatchNorm is BatchNorm of channels on axis 1, the sum with another array " +
				"where that is asked for, and a rectifier.",
			Layouts: true,
			Once:    "the pass that makes the operator leaves alone what is differentiated twice",
			Mutates: []int{3, 4},
		},
		Inputs: func(p FusedBatchNormParams) []op.Input {
			list := []op.Input{{Name: "data"}, {Name: "gamma", Role: op.Param},
				{Name: "beta", Role: op.Param},
				{Name: "moving_mean", Role: op.Aux}, {Name: "moving_var", Role: op.Aux},
				{Name: "sum"}}
			return list[:normSum+boolInt(p.Sum)]
		},
		Outputs:   func(FusedBatchNormParams) []string { return []string{"output", "mean", "var"} },
		Visible:   func(FusedBatchNormParams) int { return 1 },
		Infer:     inferFusedNorm,
		InferType: op.FloatType[FusedBatchNormParams],
		Grad: func(g *op.Grad, p FusedBatchNormParams) []op.Entry {
			n := FusedBatchNormGrad.Node(p, g.Head(0), g.In(0), g.In(1), g.In(2), g.Out(1),
				g.Out(2), g.Out(0))
			grads := []op.Entry{n.Entry(0), n.Entry(1), n.Entry(2), {}, {}}
			if p.Sum {
				grads = append(grads, n.Entry(3))
			}
			return grads
		},
		Ref: fusedNormRef,
	})
	FusedBatchNormGrad.Define(op.Spec[FusedBatchNormParams]{
		Traits: op.Traits{
			Hidden:  true,
			Layouts: true,
			NoGrad:  "it is a gradient itself",
			Inplace: [][2]int{{normGradDY, 3}, {normGradX, 0}, {normGradDY, 0}},
		},
		Inputs: inputs[FusedBatchNormParams]("out_grad", "data", "gamma", "beta", "mean", "var",
			"output"),
		Outputs: func(p FusedBatchNormParams) []string {
			return []string{"data", "gamma", "beta", "sum"}[:3+boolInt(p.Sum)]
		},
		Infer:     inferFusedNormGrad,
		InferType: op.FloatType[FusedBatchNormParams],
		Ref:       fusedNormGradRef,
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func inferFusedNorm(p FusedBatchNormParams, in, out []dtype.Shape) error {
	if p.Sum {
		if err := op.Same("sum", &in[normSum], &out[0]); err != nil {
			return err
		}
	}
	if err := inferBatchNorm(p.plain(), in[:normSum], out); err != nil {
		return err
	}
	if p.Sum {
		in[normSum] = out[0].Clone()
	}
	return nil
}

func inferFusedNormGrad(p FusedBatchNormParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[normGradY], &in[normGradDY]); err != nil {
		return err
	}
	if err := op.Same("beta", &in[normGradGamma], &in[normGradBeta]); err != nil {
		return err
	}
	own := withoutBeta(in)
	if err := inferBatchNormGrad(p.plain(), own, out[:3]); err != nil {
		return err
	}
	copy(in, own[:normGradBeta])
	copy(in[normGradMean:], own[normGradBeta:])
	in[normGradBeta], in[normGradY] = in[normGradGamma].Clone(), in[normGradDY].Clone()
	if p.Sum {
		return op.Same("gradient", &in[normGradDY], &out[3])
	}
	return nil
}

// withoutBeta selects the inputs of BatchNormGrad from the inputs of FusedBatchNormGrad.
func withoutBeta[T any](in []T) []T {
	return slices.Delete(slices.Clone(in[:normGradY]), normGradBeta, normGradBeta+1)
}

// fusedNormRef adds the summand to the result of batchNormRef and rectifies the sum.
func fusedNormRef(p FusedBatchNormParams, c *op.Call) error {
	var sum []float64
	if p.Sum {
		sum = loop.Floats(c.In[normSum])
	}
	y, means, invs := batchNorm(p.plain(), c)
	rectified := activations["relu"].value
	for i := range y {
		if sum != nil {
			y[i] += sum[i]
		}
		y[i] = rectified(y[i])
	}
	return storeWanted(c, y, means, invs)
}

func fusedNormGradRef(p FusedBatchNormParams, c *op.Call) error {
	dy, y := loop.Floats(c.In[normGradDY]), loop.Floats(c.In[normGradY])
	slope := activations["relu"].slope
	for i := range dy {
		dy[i] *= slope(y[i])
	}
	sum := slices.Clone(dy)
	own := *c
	own.In = withoutBeta(c.In)
	dgamma, dbeta := batchNormGrad(p.plain(), &own, dy)
	return storeWanted(c, dy, dgamma, dbeta, sum)
}
