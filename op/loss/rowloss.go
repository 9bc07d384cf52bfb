package loss

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// RowLossParams configures RowLoss.
type RowLossParams struct {
	Link     string `op:"link,required" enum:"identity|sigmoid" doc:"function from the layer's result to the output"`
	Absolute bool   `op:"absolute" doc:"the gradient is the sign of the difference of output and label, not the difference"`
	NoBias   bool   `op:"no_bias" doc:"the layer has no bias"`
}

// RowLoss computes a dense layer of one output, the regression head after it, and the gradients of
// the layer's weight and bias without the head's factor. It reads each row of the data from memory
// once: the row is still in the cache when its part of the gradient is computed. Only graph passes
// create it.
var RowLoss = op.Declare[RowLossParams]("_FullyConnected_RegressionOutput")

// RowLossOf returns the parameters of RowLoss for a regression head after a dense layer, given the
// operators of the head and of its gradient. It returns false for other operators.
func RowLossOf(head, grad *op.Op, noBias bool) (p RowLossParams, ok bool) {
	for _, h := range []struct {
		head, grad op.Handle[RegressionParams]
		p          RowLossParams
	}{
		{LinearRegressionOutput, LinearRegressionGrad, RowLossParams{"identity", false, noBias}},
		{LogisticRegressionOutput, LogisticRegressionGrad, RowLossParams{"sigmoid", false, noBias}},
		{MAERegressionOutput, MAERegressionGrad, RowLossParams{"identity", true, noBias}},
	} {
		if h.head.Op == head && h.grad.Op == grad {
			return h.p, true
		}
	}
	return p, false
}

// The inputs of RowLoss; the bias, if it exists, is the last.
const (
	rowData = iota
	rowWeight
	rowLabel
	rowBias
)

func init() {
	RowLoss.Define(op.Spec[RowLossParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it is a gradient as well"},
		Inputs: func(p RowLossParams) []op.Input {
			list := []op.Input{{Name: "data"}, {Name: "weight"}, {Name: "label"}}
			if !p.NoBias {
				list = append(list, op.Input{Name: "bias"})
			}
			return list
		},
		Outputs: func(p RowLossParams) []string {
			if p.NoBias {
				return []string{"output", "weight_grad"}
			}
			return []string{"output", "weight_grad", "bias_grad"}
		},
		Infer:     inferRowLoss,
		InferType: op.FloatType[RowLossParams],
		Ref:       rowLossRef,
	})
}

func inferRowLoss(p RowLossParams, in, out []dtype.Shape) error {
	if err := op.Require("weight", &in[rowWeight], dtype.Shape{1, -1}); err != nil {
		return err
	}
	if err := op.Same("gradient", &in[rowWeight], &out[1]); err != nil {
		return err
	}
	if !p.NoBias {
		if err := op.Require("bias", &in[rowBias], dtype.Shape{1}); err != nil {
			return err
		}
		if err := op.Require("gradient", &out[2], dtype.Shape{1}); err != nil {
			return err
		}
	}
	x, w, l := in[rowData], in[rowWeight], in[rowLabel]
	if !x.Known() || !w.Known() || len(x) == 0 {
		return nil
	}
	if x.Size() != x[0]*w[1] {
		return op.Errorf("data", "shape %v, want %d rows of %d", x, x[0], w[1])
	}
	if l.Known() && l.Size() != x[0] {
		return op.Errorf("label", "shape %v, want one number for each of %d rows", l, x[0])
	}
	return op.Require("output", &out[0], dtype.Shape{x[0], 1})
}

// rowLossRef computes y = link(x·w + b), dw = Σ_i d[i]·x[i] and db = Σ_i d[i] with d = y - label,
// or its sign.
func rowLossRef(p RowLossParams, c *op.Call) error {
	x, w, label := loop.Floats(c.In[rowData]), loop.Floats(c.In[rowWeight]),
		loop.Floats(c.In[rowLabel])
	bias := 0.0
	if !p.NoBias {
		bias = loop.Floats(c.In[rowBias])[0]
	}
	in := len(w)
	y, dw, db := make([]float64, len(label)), make([]float64, in), make([]float64, 1)
	for i := range y {
		v := bias
		for k := range in {
			v += x[i*in+k] * w[k]
		}
		if p.Link == "sigmoid" {
			v = 1 / (1 + math.Exp(-v))
		}
		y[i] = v
		d := v - label[i]
		if p.Absolute {
			d = side(d)
		}
		db[0] += d
		for k := range in {
			dw[k] += d * x[i*in+k]
		}
	}
	for i, t := range c.Out {
		if t.Data != nil {
			loop.Store(t, 0, [][]float64{y, dw, db}[i])
		}
	}
	return nil
}
