package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// SparseRegParams configures SparseReg.
type SparseRegParams struct {
	SparsenessTarget op.Opt[float64] `op:"sparseness_target" default:"0.1" doc:"target of the mean activation, between 0 and 1"`
	Penalty          op.Opt[float64] `op:"penalty" default:"0.001" doc:"factor of the penalty"`
	Momentum         op.Opt[float64] `op:"momentum" default:"0.9" doc:"share of the old value in the moving average"`
}

// SparseReg returns data and adds the gradient of a penalty that keeps it sparse.
var SparseReg = op.Declare[SparseRegParams]("IdentityAttachKLSparseReg")

// SparseRegGrad is the gradient of SparseReg: its inputs are the gradient of the output and the
// mean activations, its output is the gradient of data.
var SparseRegGrad = op.Declare[SparseRegParams]("_backward_IdentityAttachKLSparseReg")

func init() {
	SparseReg.Define(op.Spec[SparseRegParams]{
		Traits: op.Traits{
			Doc: `IdentityAttachKLSparseReg returns data and adds the gradient of a penalty that keeps it sparse.

The penalty is the Kullback-Leibler divergence of a moving average a of each unit's activation (the
output of a sigmoid) from sparseness_target t: its gradient is penalty·((1-t)/(1-a) - t/a). In
training the auxiliary state is updated: a = a·momentum + mean·(1-momentum).`,
			Inplace:   [][2]int{{0, 0}},
			Mutates:   []int{1},
			Precision: op.Wide,
			Kind:      op.Loss,
		},
		Inputs: func(SparseRegParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "moving_avg", Role: op.Aux}}
		},
		Outputs:   func(SparseRegParams) []string { return []string{"output", "mean"} },
		Visible:   func(SparseRegParams) int { return 1 },
		Infer:     inferSparseReg,
		InferType: op.FloatType[SparseRegParams],
		Grad: func(g *op.Grad, p SparseRegParams) []op.Entry {
			return []op.Entry{SparseRegGrad.Apply(p, g.Head(0), g.Out(1)), {}}
		},
		Ref: sparseRegRef,
	})
	SparseRegGrad.Define(op.Spec[SparseRegParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs: func(SparseRegParams) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "mean"}}
		},
		Infer: func(p SparseRegParams, in, out []dtype.Shape) error {
			fin, fout := []dtype.Shape{in[0], in[1]}, []dtype.Shape{out[0], nil}
			err := inferSparseReg(p, fin, fout)
			in[0], in[1], out[0] = fin[0], fin[1], fout[0]
			return err
		},
		InferType: op.FloatType[SparseRegParams],
		Grad: prim.Adjoint(func(_ *op.Grad, _ SparseRegParams, h op.Entry) op.Entry {
			return h
		}),
		Ref: func(p SparseRegParams, c *op.Call) error {
			dy, mean := loop.Floats(c.In[0]), loop.Floats(c.In[1])
			t := p.SparsenessTarget.Value()
			for i := range dy {
				a := mean[i%len(mean)]
				dy[i] += p.Penalty.Value() * ((1-t)/(1-a) - t/a)
			}
			loop.Store(c.Out[0], 0, dy)
			return nil
		},
	})
}

// inferSparseReg infers one average per element of a sample.
func inferSparseReg(_ SparseRegParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	units := -1
	if in[0] != nil {
		if len(in[0]) < 2 {
			return op.Errorf("data", "shape %v, want at least 2 axes", in[0])
		}
		units = in[0][1:].Size()
	}
	if err := op.Require("moving_avg", &in[1], dtype.Shape{units}); err != nil {
		return err
	}
	if err := op.Same("moving_avg", &in[1], &out[1]); err != nil {
		return err
	}
	if len(in[0]) == 2 {
		if err := op.Require("data", &in[0], dtype.Shape{-1, in[1][0]}); err != nil {
			return err
		}
		out[0] = in[0].Clone()
	}
	return nil
}

func sparseRegRef(p SparseRegParams, c *op.Call) error {
	avg := loop.Floats(c.In[1])
	if c.Train {
		m, x := p.Momentum.Value(), loop.Floats(c.In[0])
		share := (1 - m) * float64(len(avg)) / float64(max(len(x), 1))
		for k := range avg {
			avg[k] *= m
		}
		for i, v := range x {
			avg[i%len(avg)] += share * v
		}
		loop.Store(c.In[1], 0, avg)
	}
	if c.Out[1].Data != nil {
		loop.Store(c.Out[1], 0, avg)
	}
	if c.Out[0].Data != nil {
		loop.Move(c.Out[0], c.In[0])
	}
	return nil
}
