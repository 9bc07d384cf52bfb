package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// RMSNormParams configures RMSNorm.
type RMSNormParams struct {
	Eps op.Opt[float64] `op:"eps" default:"1e-05" min:"0" doc:"added to the mean of squares"`
}

var (
	// RMSNorm divides rows by the root of the mean of their squares.
	RMSNorm = op.Declare[RMSNormParams]("RMSNorm")
	// RMSNormGrad is the gradient of RMSNorm: from the gradient of the output, data, gamma and the
	// roots to the gradients of data and gamma.
	RMSNormGrad = op.Declare[RMSNormParams]("_backward_RMSNorm")
)

func init() {
	RMSNorm.Define(op.Spec[RMSNormParams]{
		Traits: op.Traits{
			Doc: `RMSNorm divides rows by the root of the mean of their squares: x·gamma/sqrt(mean(x²) + eps).

The mean is taken over the last axis; gamma has one element per position of that axis. The hidden
second output is sqrt(mean(x²) + eps), of the shape of data with the last axis of extent 1. MXNet
has no such operator. Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.`,
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Inner,
			Kind:      op.Normalization,
		},
		Inputs: func(RMSNormParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "gamma", Role: op.Param}}
		},
		Outputs:   func(RMSNormParams) []string { return []string{"output", "rms"} },
		Visible:   func(RMSNormParams) int { return 1 },
		Infer:     inferRMSNorm,
		InferType: op.FloatType[RMSNormParams],
		Grad: func(g *op.Grad, p RMSNormParams) []op.Entry {
			return g.Each(RMSNormGrad.Node(p, g.Head(0), g.In(0), g.In(1), g.Out(1)))
		},
		Ref: rmsNormRef,
	})
	RMSNormGrad.Define(op.Spec[RMSNormParams]{
		Traits:    op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs:    inputs[RMSNormParams]("out_grad", "data", "gamma", "rms"),
		Outputs:   func(RMSNormParams) []string { return []string{"data", "gamma"} },
		Infer:     inferRMSNormGrad,
		InferType: op.FloatType[RMSNormParams],
		Grad:      rmsNormSecond,
		Ref:       rmsNormGradRef,
	})
}

func inferRMSNorm(_ RMSNormParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil || in[0] == nil {
		return err
	}
	last := len(in[0]) - 1
	if last < 0 {
		return op.Errorf("data", "shape %v, want at least 1 axis", in[0])
	}
	if err := op.Require("gamma", &in[1], dtype.Shape{in[0][last]}); err != nil {
		return err
	}
	roots := in[0].Clone()
	roots[last] = 1
	if err := op.Require("rms", &out[1], roots); err != nil {
		return err
	}
	data := out[1].Clone()
	data[last] = in[1][0]
	if err := op.Require("data", &in[0], data); err != nil {
		return err
	}
	out[0] = in[0].Clone()
	return nil
}

func inferRMSNormGrad(p RMSNormParams, in, out []dtype.Shape) error {
	fin, fout := []dtype.Shape{in[1], in[2]}, []dtype.Shape{in[0], in[3]}
	for i := range out {
		if err := op.Same("gradient", &fin[i], &out[i]); err != nil {
			return err
		}
	}
	if err := inferRMSNorm(p, fin, fout); err != nil {
		return err
	}
	in[0], in[1], in[2], in[3] = fout[0], fin[0], fin[1], fout[1]
	out[0], out[1] = fin[0].Clone(), fin[1].Clone()
	return nil
}

func rmsNormRef(p RMSNormParams, c *op.Call) error {
	x, gamma := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	n := len(gamma)
	roots := make([]float64, c.Out[1].Shape.Size())
	for r := range roots {
		row, sum := x[r*n:(r+1)*n], 0.0
		for _, v := range row {
			sum += v * v
		}
		roots[r] = math.Sqrt(sum/float64(n) + p.Eps.Value())
		for i, v := range row {
			row[i] = v / roots[r] * gamma[i]
		}
	}
	return storeWanted(c, x, roots)
}

func rmsNormGradRef(_ RMSNormParams, c *op.Call) error {
	dy, x, gamma, roots := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2]),
		loop.Floats(c.In[3])
	n := len(gamma)
	dgamma := make([]float64, n)
	for r, root := range roots {
		d, row, tilt := dy[r*n:(r+1)*n], x[r*n:(r+1)*n], 0.0
		for i, v := range row {
			row[i] = v / root
			dgamma[i] += d[i] * row[i]
			tilt += d[i] * gamma[i] * row[i] / float64(n)
		}
		for i := range d {
			d[i] = (d[i]*gamma[i] - row[i]*tilt) / root
		}
	}
	return storeWanted(c, dy, dgamma)
}

// rmsNormSecond differentiates rmsNormGradRef. The roots are computed once more from the data, so
// that gradients flow through them.
func rmsNormSecond(g *op.Grad, p RMSNormParams) []op.Entry {
	over, params := prim.ReduceParams{Axis: []int{-1}, KeepDims: true}, channelsOnly(-1)
	mean := func(e op.Entry) op.Entry { return prim.Mean.Apply(over, e) }
	times := func(a, b op.Entry) op.Entry { return prim.BroadcastMul.Apply(none, a, b) }
	return g.Through(func(in []op.Entry) []op.Entry {
		dy, x := in[0], in[1]
		inv := prim.Rsqrt.Apply(none, plus(mean(square(x)), p.Eps.Value()))
		hat := times(x, inv)
		scaled := mul(dy, prim.Unreduce(params, in[2], dy))
		dx := times(sub(scaled, times(hat, mean(mul(scaled, hat)))), inv)
		return []op.Entry{dx, prim.Sum.Apply(params, mul(dy, hat))}
	})
}
