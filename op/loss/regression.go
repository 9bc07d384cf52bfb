package loss

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// RegressionParams configures LinearRegressionOutput, LogisticRegressionOutput and
// MAERegressionOutput.
type RegressionParams struct {
	GradScale op.Opt[float64] `op:"grad_scale" default:"1" doc:"factor of the gradient"`
}

// The regression heads and their gradients.
var (
	// LinearRegressionOutput returns data; its loss is the squared error.
	LinearRegressionOutput = op.Declare[RegressionParams]("LinearRegressionOutput")
	// LogisticRegressionOutput is the sigmoid of data; its loss is the cross entropy.
	LogisticRegressionOutput = op.Declare[RegressionParams]("LogisticRegressionOutput")
	// MAERegressionOutput returns data; its loss is the absolute error.
	MAERegressionOutput = op.Declare[RegressionParams]("MAERegressionOutput")

	// LinearRegressionGrad is the gradient of LinearRegressionOutput: its inputs are output, label
	// and data, of which only the shape is read, its output is the gradient of data.
	LinearRegressionGrad = op.Declare[RegressionParams]("_backward_LinearRegressionOutput")
	// LogisticRegressionGrad is the gradient of LogisticRegressionOutput.
	LogisticRegressionGrad = op.Declare[RegressionParams]("_backward_LogisticRegressionOutput")
	// MAERegressionGrad is the gradient of MAERegressionOutput.
	MAERegressionGrad = op.Declare[RegressionParams]("_backward_MAERegressionOutput")
)

// regression is a regression head: its output as a function of data and the gradient by data as a
// function of output and label.
type regression struct {
	head, grad op.Handle[RegressionParams]
	identity   bool
	value      func(x float64) float64
	slope      func(y, label float64) float64
	doc        string
}

func init() {
	keep := func(x float64) float64 { return x }
	residual := func(y, label float64) float64 { return y - label }
	for _, r := range []regression{
		{LinearRegressionOutput, LinearRegressionGrad, true, keep, residual,
			`LinearRegressionOutput returns data; its loss is half the squared error.`},
		{LogisticRegressionOutput, LogisticRegressionGrad, false,
			func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, residual,
			`LogisticRegressionOutput is the sigmoid of data; its loss is the cross entropy.`},
		{MAERegressionOutput, MAERegressionGrad, true, keep,
			func(y, label float64) float64 { return side(y - label) },
			`MAERegressionOutput returns data; its loss is the absolute error. The gradient is -1 where output and
label are equal or NaN.`},
	} {
		r.define()
	}
}

func (r regression) define() {
	r.head.Define(op.Spec[RegressionParams]{
		Traits: op.Traits{
			Doc: r.doc + `

The gradient is (output - label), or its sign, times grad_scale divided by the number of outputs per
sample; the gradient of the output is ignored. The label has as many elements as data.`,
			Aliases:   []string{"_sparse_" + r.head.Name},
			Inplace:   [][2]int{{0, 0}},
			Identity:  r.identity,
			Ignores:   []int{1},
			Precision: op.Wide,
			Head:      true,
			Kind:      op.Loss,
		},
		Inputs:    dataLabel[RegressionParams],
		Infer:     inferRegression,
		InferType: op.FloatType[RegressionParams],
		Grad: func(g *op.Grad, p RegressionParams) []op.Entry {
			return []op.Entry{r.grad.Apply(p, g.Out(0), g.In(1), g.In(0)), {}}
		},
		Ref: func(_ RegressionParams, c *op.Call) error {
			loop.Map(loop.Func1{F: r.value}, c.Out[0], c.In[0])
			return nil
		},
		Storage: csrLabel,
		Sparse: func(_ RegressionParams, c *op.Call) error {
			loop.Map(loop.Func1{F: r.value}, c.Out[0], c.In[0])
			return nil
		},
	})
	r.grad.Define(op.Spec[RegressionParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{2}, Inplace: [][2]int{{0, 0}}},
		Inputs:    lossInputs[RegressionParams],
		Infer:     lossShapes(inferRegression),
		InferType: op.FloatType[RegressionParams],
		Grad:      r.second,
		Ref: func(p RegressionParams, c *op.Call) error {
			label := c.In[1]
			label.Shape = c.In[0].Shape
			loop.Zip(r.scaled(p, c.In[0].Shape), c.Out[0], c.In[0], label)
			return nil
		},
		Storage: csrLabel,
		Sparse: func(p RegressionParams, c *op.Call) error {
			dense := op.Call{In: []op.Tensor{c.In[0], c.In[1]}, Out: c.Out, Threads: c.Threads}
			if dense.In[1].Shape = c.In[0].Shape; len(c.In[0].Shape) != 2 {
				return op.Errorf("label", "csr for data of shape %v, want a matrix", c.In[0].Shape)
			}
			return loop.ZipDense(r.scaled(p, c.In[0].Shape), &dense)
		},
	})
}

// scaled is the gradient by data as a function of output and label.
func (r regression) scaled(p RegressionParams, data dtype.Shape) loop.Func2 {
	scale := p.GradScale.Value() / float64(max(perSample(data), 1))
	return loop.Func2{F: func(y, label float64) float64 { return scale * r.slope(y, label) }}
}

// csrLabel serves calls in which the label alone is csr.
func csrLabel(_ RegressionParams, in []op.Storage) ([]op.Storage, bool) {
	return []op.Storage{op.Dense}, in[0] == op.Dense && in[1] != op.RowSparse
}

// second differentiates factor·(output - label). The factor is the gradient for an output of one
// and a label of zero.
func (r regression) second(g *op.Grad, p RegressionParams) []op.Entry {
	if r.head.Name == MAERegressionOutput.Name {
		return make([]op.Entry, len(g.Node.In)) // the derivative of a sign is zero
	}
	link := linkParams{Link: "identity"}
	if r.head.Name == LogisticRegressionOutput.Name {
		link.Link = "sigmoid"
	}
	return g.Through(func(in []op.Entry) []op.Entry {
		y := lossValue.Apply(link, in[0], in[2])
		factor := r.grad.Apply(p, prim.OnesLike.Apply(none, y), prim.ZerosLike.Apply(none, in[1]),
			in[2])
		return []op.Entry{mul(y, constant(factor))}
	})
}

// perSample returns the number of elements of one sample, that is with one index along the first
// axis.
func perSample(s dtype.Shape) int {
	if len(s) == 0 {
		return 1
	}
	return s[1:].Size()
}

// side returns 1 for a positive difference of output and label and -1 otherwise, as in MXNet also
// for zero.
func side(d float64) float64 {
	if d > 0 {
		return 1
	}
	return -1
}

// inferRegression infers that output has the shape of data, and the label's shape from both: the
// shape of data by default, a vector for data of one column.
func inferRegression(_ RegressionParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	data := in[0]
	switch {
	case data == nil:
		return nil
	case in[1] == nil && len(data) == 2 && data[1] == 1:
		in[1] = dtype.Shape{data[0]}
	case in[1] == nil && data.Known():
		in[1] = data.Clone()
	case in[1] == nil:
		return nil
	case len(in[1]) == len(data):
		if err := op.Same("label", &in[0], &in[1]); err != nil {
			return err
		}
		out[0] = in[0].Clone()
	}
	if n, m := in[0].Size(), in[1].Size(); n != -1 && m != -1 && n != m {
		return op.Errorf("label", "shape %v, want as many elements as data of shape %v has", in[1],
			in[0])
	}
	return nil
}
