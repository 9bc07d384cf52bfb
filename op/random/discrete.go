package random

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// RandIntParams are the parameters of RandomRandInt.
type RandIntParams struct {
	Low   int                `op:"low,required" doc:"lower bound, included"`
	High  int                `op:"high,required" doc:"upper bound, left out"`
	Shape []int              `op:"shape" doc:"shape of the output"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output, int32 or int64; None: int32"`
}

// MultinomialParams are the parameters of SampleMultinomial.
type MultinomialParams struct {
	Shape   []int              `op:"shape" doc:"shape of the numbers that each distribution draws"`
	GetProb bool               `op:"get_prob" doc:"return the logarithm of the probability of each number too"`
	DType   op.Opt[dtype.Type] `op:"dtype" default:"int32" doc:"element type of the numbers"`
}

// The operators that draw from finite sets.
var (
	RandInt         = op.Declare[RandIntParams]("_random_randint")
	Multinomial     = op.Declare[MultinomialParams]("_sample_multinomial")
	Shuffle         = op.Declare[op.NoParams]("_shuffle")
	multinomialGrad = op.Declare[MultinomialParams]("_backward_sample_multinomial")
)

func init() {
	RandInt.Define(op.Spec[RandIntParams]{
		Traits: op.Traits{
			Doc:     "RandomRandInt draws integers between low and high, which is left out.",
			GoName:  "RandomRandInt",
			Aliases: []string{"_npi_random_randint", "random_randint"},
			Random:  true,
		},
		Inputs: prim.Inputs[RandIntParams](),
		Infer: func(p RandIntParams, _, out []dtype.Shape) error {
			if p.High <= p.Low {
				return op.Errorf("high", "%d, want more than low, which is %d", p.High, p.Low)
			}
			return op.Require("output", &out[0], prim.WantedShape(p.Shape))
		},
		InferType: func(p RandIntParams, _, out []dtype.Type) error {
			return setType(&out[0], p.DType, dtype.Int32)
		},
		Grad: prim.ZeroGrad[RandIntParams],
		Ref: func(p RandIntParams, c *op.Call) error {
			for i := range c.Out[0].Shape.Size() {
				s := source{seed: c.Seed, index: i}
				wide := uint64(s.word())<<32 | uint64(s.word())
				loop.StoreInt(c.Out[0], i, []int64{int64(p.Low) + int64(wide%uint64(p.High-p.Low))})
			}
			return nil
		},
	})
	defineMultinomial()
	Shuffle.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:     "Shuffle puts the slices of data along the first axis in random order.",
			Aliases: []string{"_npi_shuffle", "shuffle"},
			Random:  true,
			NoGrad:  "the order is not kept",
		},
		Infer: op.SameShape[op.NoParams],
		Ref:   shuffle,
	})
}

func defineMultinomial() {
	Multinomial.Define(op.Spec[MultinomialParams]{
		Traits: op.Traits{
			Doc: "SampleMultinomial draws numbers from 0 to K-1 with the probabilities along the " +
				"last axis of data, which has extent K; each such distribution draws as many as " +
				"shape says. With get_prob the second output is the logarithm of their " +
				"probabilities, and the gradient of that flows back to data.",
			GoName:  "SampleMultinomial",
			Aliases: []string{"sample_multinomial"},
			Random:  true,
			Multi:   true,
			Once:    "it is not provided",
		},
		Outputs: func(p MultinomialParams) []string {
			if p.GetProb {
				return []string{"output0", "output1"}
			}
			return []string{"output"}
		},
		Infer: inferMultinomial,
		InferType: func(p MultinomialParams, in, out []dtype.Type) error {
			if err := setType(&out[0], p.DType, dtype.Int32); err != nil || !p.GetProb {
				return err
			}
			return op.SameType(p, in, out[1:])
		},
		Grad: func(g *op.Grad, p MultinomialParams) []op.Entry {
			if !p.GetProb || !g.OutGrad[1].Valid() {
				return []op.Entry{{}}
			}
			return []op.Entry{multinomialGrad.Apply(p, g.OutGrad[1], g.In(0), g.Out(0))}
		},
		Ref: multinomial,
	})
	multinomialGrad.Define(op.Spec[MultinomialParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of the log-likelihood is " +
			"not provided"},
		Inputs: prim.Inputs[MultinomialParams]("grad", "data", "sample"),
		Infer: func(p MultinomialParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[1:2], out); err != nil {
				return err
			}
			p.GetProb = true
			return inferMultinomial(p, in[1:2], []dtype.Shape{in[2], in[0]})
		},
		InferType: func(p MultinomialParams, in, out []dtype.Type) error {
			return op.SameType(p, in[:2], out)
		},
		Ref: multinomialBackward,
	})
}

// inferMultinomial infers the outputs; without shape one distribution draws one number, and a
// single distribution gives shape (1,).
func inferMultinomial(p MultinomialParams, in, out []dtype.Shape) error {
	if in[0] == nil {
		return nil
	}
	if len(in[0]) == 0 {
		return op.Errorf("data", "shape (), want at least one axis")
	}
	want := append(in[0][:len(in[0])-1].Clone(), p.Shape...)
	if len(want) == 0 {
		want = dtype.Shape{1}
	}
	for i := range out {
		if err := op.Require("output", &out[i], want); err != nil {
			return err
		}
	}
	return nil
}

// draws returns the number of classes and of numbers per distribution.
func draws(data, out op.Tensor) (classes, each int) {
	classes = data.Shape[len(data.Shape)-1]
	if data.Shape.Size() == 0 {
		return classes, 0
	}
	return classes, out.Shape.Size() / (data.Shape.Size() / classes)
}

func multinomial(p MultinomialParams, c *op.Call) error {
	k, each := draws(c.In[0], c.Out[0])
	if k == 0 {
		return op.Errorf("data", "shape %v, want at least one class", c.In[0].Shape)
	}
	prob := loop.Floats(c.In[0])
	for i := range c.Out[0].Shape.Size() {
		row := prob[i/each*k : (i/each+1)*k]
		s := source{seed: c.Seed, index: i}
		u, at := s.unit(), 0
		for ; at < k-1; at++ {
			if u -= row[at]; u < 0 {
				break
			}
		}
		if c.Out[0].Data != nil {
			loop.StoreInt(c.Out[0], i, []int64{int64(at)})
		}
		if p.GetProb && c.Out[1].Data != nil {
			loop.Store(c.Out[1], i, []float64{math.Log(max(row[at], math.SmallestNonzeroFloat32))})
		}
	}
	return nil
}

func multinomialBackward(_ MultinomialParams, c *op.Call) error {
	dy, prob, class := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Ints(c.In[2])
	k, each := draws(c.In[1], c.In[2])
	dx := make([]float64, len(prob))
	for i, at := range class {
		o := i/each*k + int(at)
		dx[o] += dy[i] / max(prob[o], math.SmallestNonzeroFloat32)
	}
	loop.Store(c.Out[0], 0, dx)
	return nil
}

// shuffle is the method of Fisher and Yates.
func shuffle(_ op.NoParams, c *op.Call) error {
	in, out := c.In[0], c.Out[0]
	if len(in.Shape) == 0 || in.Shape.Size() == 0 {
		loop.Move(out, in)
		return nil
	}
	n := in.Shape[0]
	order := make([]int, n)
	for i := range order {
		s := source{seed: c.Seed, index: i}
		wide := uint64(s.word())<<32 | uint64(s.word())
		j := int(wide % uint64(i+1))
		order[i], order[j] = order[j], i
	}
	run := in.Shape.Size() / n
	one := []int{1}
	for i, from := range order {
		loop.Copy(dtype.Shape{run}, loop.View{Tensor: out, Off: i * run, Strides: one},
			loop.View{Tensor: in, Off: from * run, Strides: one})
	}
	return nil
}
