package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// DenseGradParams configures DenseGrad.
type DenseGradParams struct {
	NumHidden     int             `op:"num_hidden,required" min:"1" doc:"number of outputs of the dense layer, the classes"`
	NoBias        bool            `op:"no_bias" doc:"the layer has no bias"`
	GradScale     op.Opt[float64] `op:"grad_scale" default:"1" doc:"factor of the gradient"`
	IgnoreLabel   op.Opt[float64] `op:"ignore_label" default:"-1" doc:"label of ignored samples, with use_ignore"`
	UseIgnore     bool            `op:"use_ignore" doc:"samples labelled ignore_label get no gradient"`
	Normalization string          `op:"normalization" default:"null" enum:"null|batch|valid" doc:"divisor of the gradient: 1, the batch size, or the number of labels that are not ignore_label"`
	SmoothAlpha   float64         `op:"smooth_alpha" min:"0" doc:"share of the target that is distributed over the other classes"`
}

// DenseGrad is the gradient of a dense layer followed by SoftmaxOutput: its inputs are output,
// label, and the layer's data and weight; its outputs are the gradients of data, weight and bias.
// It does not store the gradient of the layer's results, which is as large as the output. Only
// graph passes create it.
var DenseGrad = op.Declare[DenseGradParams]("_backward_SoftmaxOutput_FullyConnected")

// DenseGradOf returns the parameters of DenseGrad for a SoftmaxOutput after a dense layer. It
// returns false if the classes are along other axes, or if the gradient is more than a difference
// of probabilities.
func DenseGradOf(p SoftmaxOutputParams, output, label dtype.Shape, numHidden int,
	noBias bool) (q DenseGradParams, ok bool) {
	if p.MultiOutput || p.OutGrad || !output.Known() || !label.Known() || label.Equal(output) {
		return q, false
	}
	if v := newClasses(p, output); v.count != numHidden || label.Size() != v.samples {
		return q, false
	}
	return DenseGradParams{NumHidden: numHidden, NoBias: noBias, GradScale: p.GradScale,
		IgnoreLabel: p.IgnoreLabel,
		UseIgnore:   p.UseIgnore, Normalization: p.Normalization, SmoothAlpha: p.SmoothAlpha}, true
}

// loss returns the parameters of the SoftmaxOutput alone, with the classes along the last axis.
func (p DenseGradParams) loss() SoftmaxOutputParams {
	return SoftmaxOutputParams{GradScale: p.GradScale, IgnoreLabel: p.IgnoreLabel,
		UseIgnore: p.UseIgnore, PreserveShape: true,
		Normalization: p.Normalization, SmoothAlpha: p.SmoothAlpha}
}

// The inputs of DenseGrad.
const (
	denseOutput = iota
	denseLabel
	denseData
	denseWeight
)

func init() {
	DenseGrad.Define(op.Spec[DenseGradParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it is a gradient itself"},
		Inputs: func(DenseGradParams) []op.Input {
			return []op.Input{{Name: "output"}, {Name: "label"}, {Name: "data"}, {Name: "weight"}}
		},
		Outputs: func(p DenseGradParams) []string {
			if p.NoBias {
				return []string{"data", "weight"}
			}
			return []string{"data", "weight", "bias"}
		},
		Infer:     inferDenseGrad,
		InferType: op.FloatType[DenseGradParams],
		Ref:       denseGradRef,
	})
}

func inferDenseGrad(p DenseGradParams, in, out []dtype.Shape) error {
	if err := op.Same("gradient", &in[denseData], &out[0]); err != nil {
		return err
	}
	if err := op.Require("weight", &in[denseWeight], dtype.Shape{p.NumHidden, -1}); err != nil {
		return err
	}
	if err := op.Same("gradient", &in[denseWeight], &out[1]); err != nil {
		return err
	}
	if !p.NoBias {
		if err := op.Require("gradient", &out[2], dtype.Shape{p.NumHidden}); err != nil {
			return err
		}
	}
	y, x, w := in[denseOutput], in[denseData], in[denseWeight]
	if !y.Known() || !x.Known() || !w.Known() || !in[denseLabel].Known() {
		return nil
	}
	rows := y.Size() / p.NumHidden
	switch {
	case len(y) < 2 || y[len(y)-1] != p.NumHidden:
		return op.Errorf("output", "shape %v, want %d classes along the last of at least 2 axes", y,
			p.NumHidden)
	case in[denseLabel].Size() != rows:
		return op.Errorf("label", "shape %v, want one number for each of %d rows", in[denseLabel],
			rows)
	case x.Size() != rows*w[1]:
		return op.Errorf("data", "shape %v, want %d rows of %d", x, rows, w[1])
	}
	return nil
}

// denseGradRef computes the requested ones of dx = dy·w, dw = dyᵀ·x and db = Σ_i dy[i], with dy of
// softmaxGradRef.
func denseGradRef(p DenseGradParams, c *op.Call) error {
	dy, label := loop.Floats(c.In[denseOutput]), loop.Floats(c.In[denseLabel])
	x, w := loop.Floats(c.In[denseData]), loop.Floats(c.In[denseWeight])
	q := p.loss()
	v := newClasses(q, c.In[denseOutput].Shape)
	v.each(func(i, at int) { v.target(q, dy, at, label[i]) })
	scale, in := v.scale(q, label), c.In[denseWeight].Shape[1]
	dx, dw, db := make([]float64, len(x)), make([]float64, len(w)), make([]float64, v.count)
	for i := range v.samples {
		for j := range v.count {
			g := dy[i*v.count+j] * scale
			db[j] += g
			for k := range in {
				dx[i*in+k] += g * w[j*in+k]
				dw[j*in+k] += g * x[i*in+k]
			}
		}
	}
	for i, t := range c.Out {
		if t.Data != nil {
			loop.Store(t, 0, [][]float64{dx, dw, db}[i])
		}
	}
	return nil
}
