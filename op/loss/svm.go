package loss

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// SVMOutputParams configures SVMOutput.
type SVMOutputParams struct {
	Margin                    op.Opt[float64] `op:"margin" default:"1" doc:"margin: required distance from the decision border"`
	RegularizationCoefficient op.Opt[float64] `op:"regularization_coefficient" default:"1" doc:"factor of the gradient"`
	UseLinear                 bool            `op:"use_linear" doc:"hinge loss instead of its square"`
}

// SVMOutput is the head of a support vector machine.
var SVMOutput = op.Declare[SVMOutputParams]("SVMOutput")

// SVMOutputGrad is the gradient of SVMOutput: its inputs are output, label and data, of which only
// the shape is read, its output is the gradient of data.
var SVMOutputGrad = op.Declare[SVMOutputParams]("_backward_SVMOutput")

func init() {
	SVMOutput.Define(op.Spec[SVMOutputParams]{
		Traits: op.Traits{
			Doc: `SVMOutput returns scores; its loss is the squared hinge loss, one class against the others.

Data has shape (n, ..., classes), the label the shape of data without its last axis. The score of
the label's class should be above margin, the other scores below -margin; the gradient of the output
is ignored.`,
			Identity:  true,
			Inplace:   [][2]int{{0, 0}},
			Ignores:   []int{1},
			Precision: op.Wide,
			Head:      true,
			Kind:      op.Loss,
		},
		Inputs:    dataLabel[SVMOutputParams],
		Infer:     inferSVM,
		InferType: op.FloatType[SVMOutputParams],
		Grad: func(g *op.Grad, p SVMOutputParams) []op.Entry {
			return []op.Entry{SVMOutputGrad.Apply(p, g.Out(0), g.In(1), g.In(0)), {}}
		},
		Ref: pass[SVMOutputParams],
	})
	SVMOutputGrad.Define(op.Spec[SVMOutputParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{2}, Inplace: [][2]int{{0, 0}}},
		Inputs:    lossInputs[SVMOutputParams],
		Infer:     lossShapes(inferSVM),
		InferType: op.FloatType[SVMOutputParams],
		Grad: func(g *op.Grad, p SVMOutputParams) []op.Entry {
			if p.UseLinear {
				return make([]op.Entry, 3)
			}
			missed := prim.NotEqualScalar.Apply(number(0), g.Out(0))
			slope := prim.MulScalar.Apply(number(2*p.RegularizationCoefficient.Value()), missed)
			return []op.Entry{{}, {}, mul(g.Head(0), slope)} // the output equals data
		},
		Ref: svmGradRef,
	})
}

func inferSVM(_ SVMOutputParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	if in[0] == nil && in[1] == nil {
		return nil
	}
	if in[0] == nil {
		in[0] = append(in[1].Clone(), -1)
	}
	if len(in[0]) < 2 {
		return op.Errorf("data", "shape %v, want at least 2 axes", in[0])
	}
	if err := op.Require("label", &in[1], in[0][:len(in[0])-1]); err != nil {
		return err
	}
	if err := op.Require("data", &in[0], append(in[1].Clone(), -1)); err != nil {
		return err
	}
	return op.Same("output", &in[0], &out[0])
}

func svmGradRef(p SVMOutputParams, c *op.Call) error {
	y, label := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	n, margin := c.In[0].Shape[len(c.In[0].Shape)-1], p.Margin.Value()
	for i, score := range y {
		side := -1.0
		if i%n == int(label[i/n]) {
			side = 1
		}
		miss := max(margin-side*score, 0)
		if p.UseLinear && miss > 0 {
			miss = 0.5
		}
		y[i] = -2 * side * miss * p.RegularizationCoefficient.Value()
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}
