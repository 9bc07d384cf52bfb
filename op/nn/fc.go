package nn

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// FullyConnectedParams configures FullyConnected.
type FullyConnectedParams struct {
	NumHidden int  `op:"num_hidden,required" min:"1" doc:"number of outputs per sample"`
	NoBias    bool `op:"no_bias" doc:"leave the bias out"`
	NoFlatten bool `op:"flatten,not" doc:"treat all axes but the first as one; otherwise the last axis alone is transformed"`
}

// FullyConnected is the affine layer: y = x·wᵀ + b.
var FullyConnected = op.Declare[FullyConnectedParams]("FullyConnected")

// FullyConnectedGrad is the gradient of FullyConnected: from the gradient of the output, data and
// weight to the gradients of data, weight and bias.
var FullyConnectedGrad = op.Declare[FullyConnectedParams]("_backward_FullyConnected")

// FullyConnectedGradSum is FullyConnectedGrad that adds another array to the gradient of the data.
// Passes for GPUs make it.
var FullyConnectedGradSum = op.Declare[FullyConnectedParams]("_backward_FullyConnected_sum")

// fcGradSum is the index of that array among the inputs.
const fcGradSum = 3

func init() {
	FullyConnected.Define(op.Spec[FullyConnectedParams]{
		Traits: op.Traits{
			Doc: `FullyConnected applies an affine transformation, y = x·wᵀ + b.

With flatten, data of shape (n, ...) is seen as a matrix of n rows and the output has shape
(n, num_hidden). Without, only the last axis is transformed: (a, b, c) gives (a, b, num_hidden).
The weight has shape (num_hidden, inputs), the bias (num_hidden).`,
			Aliases:   []string{"_npx_fully_connected", "_sparse_FullyConnected"},
			Precision: op.Narrow,
			Kind:      op.Product,
		},
		Inputs:    func(p FullyConnectedParams) []op.Input { return weighted(p.NoBias) },
		Infer:     inferFC,
		InferType: op.FloatType[FullyConnectedParams],
		Grad: func(g *op.Grad, p FullyConnectedParams) []op.Entry {
			return g.Each(FullyConnectedGrad.Node(p, g.Head(0), g.In(0), g.In(1)))
		},
		FLOPs: func(_ FullyConnectedParams, in, out []dtype.Shape) int64 {
			return weightedFLOPs(in, out[0])
		},
		Product: func(p FullyConnectedParams, in []dtype.Shape) device.Product {
			return op.ProductOfRows(in[0].Size() / max(in[1][1], 1))
		},
		Ref: fcRef,
	})
	FullyConnectedGradSum.Define(op.Spec[FullyConnectedParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it is a gradient itself",
			Inplace: [][2]int{{fcGradSum, 0}}},
		Inputs:  inputs[FullyConnectedParams]("out_grad", "data", "weight", "sum"),
		Outputs: func(p FullyConnectedParams) []string { return weightedGrads(p.NoBias) },
		Infer: func(p FullyConnectedParams, in, out []dtype.Shape) error {
			if err := op.Same("sum", &in[fcGradSum], &in[1]); err != nil {
				return err
			}
			fit := backward(inferFC, func(p FullyConnectedParams) int {
				return len(weighted(p.NoBias))
			}, 0, 1)
			return fit(p, in[:fcGradSum], out)
		},
		InferType: op.FloatType[FullyConnectedParams],
		FLOPs: func(_ FullyConnectedParams, in, out []dtype.Shape) int64 {
			return weightedGradFLOPs(in, in[0], out)
		},
		Ref: fcGradRef,
	})
	FullyConnectedGrad.Define(op.Spec[FullyConnectedParams]{
		Traits:  op.Traits{Hidden: true},
		Inputs:  inputs[FullyConnectedParams]("out_grad", "data", "weight"),
		Outputs: func(p FullyConnectedParams) []string { return weightedGrads(p.NoBias) },
		Infer: backward(inferFC, func(p FullyConnectedParams) int {
			return len(weighted(p.NoBias))
		}, 0, 1),
		InferType: op.FloatType[FullyConnectedParams],
		Grad: func(g *op.Grad, p FullyConnectedParams) []op.Entry {
			plain := p
			plain.NoBias = true
			return weightedSecond(g, FullyConnected, FullyConnectedGrad, plain, -1)
		},
		FLOPs: func(_ FullyConnectedParams, in, out []dtype.Shape) int64 {
			return weightedGradFLOPs(in, in[0], out)
		},
		Ref: fcGradRef,
	})
}

// weighted lists the inputs of layers with a weight and an optional bias.
func weighted(noBias bool) []op.Input {
	list := []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param},
		{Name: "bias", Role: op.Param}}
	if noBias {
		return list[:2]
	}
	return list
}

// weightedGrads names the outputs of the backward operators of such layers.
func weightedGrads(noBias bool) []string {
	list := []string{"data", "weight", "bias"}
	if noBias {
		return list[:2]
	}
	return list
}

// weightedFLOPs counts the operations of a layer whose weight, input 1, is applied to make each
// element of y: two for each element of the weight behind its first axis, one for the bias.
func weightedFLOPs(in []dtype.Shape, y dtype.Shape) int64 {
	return products(in[1], y) + biasFLOPs(len(in) > 2, y)
}

// weightedGradFLOPs counts the operations of the gradient, whose input 2 is the weight: as many
// products for the gradient of the data as for the gradient of the weight, one for each element of
// each that applies the weight.
func weightedGradFLOPs(in []dtype.Shape, each dtype.Shape, out []dtype.Shape) int64 {
	return 2*products(in[2], each) + biasFLOPs(len(out) > 2, in[0])
}

func products(weight, each dtype.Shape) int64 {
	return 2 * int64(each.Size()) * int64(weight[1:].Size())
}

func biasFLOPs(bias bool, y dtype.Shape) int64 {
	if bias {
		return int64(y.Size())
	}
	return 0
}

func inferFC(p FullyConnectedParams, in, out []dtype.Shape) error {
	if in[0] != nil && len(in[0]) == 0 {
		return op.Errorf("data", "is a scalar, want at least one axis")
	}
	features := -1
	switch {
	case in[0] == nil:
	case p.NoFlatten:
		features = extent(in[0], -1)
	default:
		features = in[0][1:].Size()
	}
	if err := op.Require("weight", &in[1], dtype.Shape{p.NumHidden, features}); err != nil {
		return err
	}
	if !p.NoBias {
		if _, err := vector("bias", &in[2], p.NumHidden); err != nil {
			return err
		}
	}
	if p.NoFlatten {
		return inferLastAxis(in[1][1], p.NumHidden, in, out)
	}
	if err := op.Require("output", &out[0], dtype.Shape{extent(in[0], 0),
		p.NumHidden}); err != nil {
		return err
	}
	if in[0] == nil {
		return nil
	}
	want := unknown(len(in[0]))
	want[0] = out[0][0]
	if len(want) == 2 {
		want[1] = in[1][1]
	}
	return op.Require("data", &in[0], want)
}

// inferLastAxis infers data (..., from) and output (..., to).
func inferLastAxis(from, to int, in, out []dtype.Shape) error {
	lead := in[0]
	if lead == nil {
		lead = out[0]
	}
	if lead == nil {
		return nil
	}
	if len(lead) == 0 {
		return op.Errorf("output", "is a scalar, want at least one axis")
	}
	y := lead.Clone()
	y[len(y)-1] = to
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	x := out[0].Clone()
	x[len(x)-1] = from
	return op.Require("data", &in[0], x)
}

// fcRef computes y[i][j] = b[j] + Σ_k x[i][k]·w[j][k].
func fcRef(p FullyConnectedParams, c *op.Call) error {
	x, w := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	rows, inputs, outputs := fcExtents(c.In[1].Shape, c.Out[0].Shape)
	b := make([]float64, outputs)
	if !p.NoBias {
		b = loop.Floats(c.In[2])
	}
	y := make([]float64, rows*outputs)
	for i := range rows {
		for j := range outputs {
			sum := b[j]
			for k := range inputs {
				sum += x[i*inputs+k] * w[j*inputs+k]
			}
			y[i*outputs+j] = sum
		}
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

// fcExtents returns the extents of the matrix product: rows of data, inputs and outputs per row.
func fcExtents(weight, output dtype.Shape) (rows, inputs, outputs int) {
	outputs, inputs = weight[0], weight[1]
	return output.Size() / max(outputs, 1), inputs, outputs
}

// fcGradRef computes dx = dy·w, dw = dyᵀ·x and db = Σ_i dy[i], those that are wanted.
func fcGradRef(p FullyConnectedParams, c *op.Call) error {
	dy, x, w := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	rows, inputs, outputs := fcExtents(c.In[2].Shape, c.In[0].Shape)
	dx, dw, db := make([]float64, len(x)), make([]float64, len(w)), make([]float64, outputs)
	if len(c.In) > fcGradSum {
		dx = loop.Floats(c.In[fcGradSum])
	}
	for i := range rows {
		for j := range outputs {
			g := dy[i*outputs+j]
			db[j] += g
			for k := range inputs {
				dx[i*inputs+k] += g * w[j*inputs+k]
				dw[j*inputs+k] += g * x[i*inputs+k]
			}
		}
	}
	return storeWanted(c, dx, dw, db)
}

// storeWanted writes the outputs somebody wants; c may have fewer outputs than there are values.
func storeWanted(c *op.Call, values ...[]float64) error {
	for i, t := range c.Out {
		if t.Data != nil {
			loop.Store(t, 0, values[i])
		}
	}
	return nil
}
