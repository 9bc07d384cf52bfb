package loss

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// The cross entropy of a softmax as a function.
var (
	// SoftmaxCrossEntropy is the cross entropy of the softmax of data and class numbers.
	SoftmaxCrossEntropy = op.Declare[op.NoParams]("softmax_cross_entropy")
	// SoftmaxCrossEntropyGrad is its gradient: its inputs are the gradient of the output, data and
	// label, its output is the gradient of data.
	SoftmaxCrossEntropyGrad = op.Declare[op.NoParams]("_backward_softmax_cross_entropy")
)

// leastProbability is the lower bound of probabilities, which keeps logarithms finite.
const leastProbability = 1e-8

func init() {
	SoftmaxCrossEntropy.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: `SoftmaxCrossEntropy (softmax_cross_entropy) is the sum of -log softmax(data)[label] over a batch.

Data has shape (n, classes), the label (n), the output (1). Probabilities below 1e-8 count as 1e-8.
A label that is not a class counts as one of probability 1e-8, where MXNet reads memory outside the
row; the gradient of its row is the softmax, as in MXNet.`,
			Precision: op.Wide,
			Kind:      op.Loss,
		},
		Inputs:    dataLabel[op.NoParams],
		Infer:     inferCrossEntropy,
		InferType: op.FloatType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{SoftmaxCrossEntropyGrad.Apply(p, g.Head(0), g.In(0), g.In(1)), {}}
		},
		Ref: crossEntropyRef,
	})
	SoftmaxCrossEntropyGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{1, 0}}},
		Inputs: func(op.NoParams) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "data"}, {Name: "label"}}
		},
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			fout := in[:1]
			err := inferCrossEntropy(p, in[1:], fout)
			out[0] = in[1].Clone()
			return err
		},
		InferType: op.FloatType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			h, dy, x, label := g.Head(0), g.In(0), g.In(1), g.In(2)
			one := SoftmaxCrossEntropyGrad.Apply(p, prim.OnesLike.Apply(none, dy), x, label)
			all := prim.ReduceParams{}
			return []op.Entry{prim.Sum.Apply(all, mul(h, one)), mul(prim.Unreduce(all, dy, x),
				softmaxTangent(prim.Softmax.Apply(prim.SoftmaxParams{}, x), h)), {}}
		},
		Ref: crossEntropyGradRef,
	})
}

func inferCrossEntropy(_ op.NoParams, in, out []dtype.Shape) error {
	if err := op.Require("output", &out[0], dtype.Shape{1}); err != nil {
		return err
	}
	if err := op.Require("data", &in[0], dtype.Shape{-1, -1}); err != nil {
		return err
	}
	if err := op.Require("label", &in[1], dtype.Shape{in[0][0]}); err != nil {
		return err
	}
	return op.Require("data", &in[0], dtype.Shape{in[1][0], -1})
}

func crossEntropyRef(_ op.NoParams, c *op.Call) error {
	p, label := rowSoftmax(c.In[0]), loop.Floats(c.In[1])
	n, sum := c.In[0].Shape[1], 0.0
	for i, l := range label {
		probability := leastProbability
		if k := int(l); k >= 0 && k < n {
			probability = max(p[i*n+k], probability)
		}
		sum -= math.Log(probability)
	}
	loop.Store(c.Out[0], 0, []float64{sum})
	return nil
}

func crossEntropyGradRef(_ op.NoParams, c *op.Call) error {
	scale := loop.Floats(c.In[0])[0]
	p, label := rowSoftmax(c.In[1]), loop.Floats(c.In[2])
	n := c.In[1].Shape[1]
	for i := range p {
		if i%n == int(label[i/n]) {
			p[i]--
		}
		p[i] *= scale
	}
	loop.Store(c.Out[0], 0, p)
	return nil
}

// rowSoftmax returns the softmax of every row of a matrix.
func rowSoftmax(t op.Tensor) []float64 {
	x := loop.Floats(t)
	classes{t.Shape[0], t.Shape[1], 1}.softmax(x)
	return x
}
