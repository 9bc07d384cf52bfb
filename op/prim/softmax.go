package prim

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// SoftmaxParams are the parameters of Softmax, Softmin and LogSoftmax.
type SoftmaxParams struct {
	Axis        op.Opt[int]        `op:"axis" default:"-1" doc:"axis along which the results sum to one"`
	Temperature op.Opt[float64]    `op:"temperature" doc:"data is divided by it first; None: 1"`
	DType       op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: that of data"`
	UseLength   bool               `op:"use_length" doc:"take only as many elements of the axis as the input length says"`
}

// The functions that normalize along an axis.
var (
	Softmax        = op.Declare[SoftmaxParams]("softmax")
	Softmin        = op.Declare[SoftmaxParams]("softmin")
	LogSoftmax     = op.Declare[SoftmaxParams]("log_softmax")
	softmaxGrad    = op.Declare[SoftmaxParams]("_backward_softmax")
	softminGrad    = op.Declare[SoftmaxParams]("_backward_softmin")
	logSoftmaxGrad = op.Declare[SoftmaxParams]("_backward_log_softmax")
)

func init() {
	family := []struct {
		op, back op.Handle[SoftmaxParams]
		doc      string
		aliases  []string
		kind     softmaxKind
	}{
		{Softmax, softmaxGrad, "Softmax computes exp(x/T) / Σ exp(x/T) along an axis.",
			[]string{"_npx_softmax"}, softmaxKind{sign: 1}},
		{Softmin, softminGrad, "Softmin computes exp(-x/T) / Σ exp(-x/T) along an axis.", nil,
			softmaxKind{sign: -1}},
		{LogSoftmax, logSoftmaxGrad, "LogSoftmax computes x/T - log Σ exp(x/T) along an axis.",
			[]string{"_npx_log_softmax"}, softmaxKind{sign: 1, log: true}},
	}
	for _, f := range family {
		precision := op.Inner
		if f.kind.log {
			precision = op.Wide // losses are made of logarithms
		}
		f.op.Define(op.Spec[SoftmaxParams]{
			Traits: op.Traits{
				Doc: f.doc + " T is the temperature. With use_length, elements behind the length " +
					"are zero in the output and left out of sums. NaN and +Inf give NaN in all " +
					"elements of their line; MXNet with oneDNN passes over NaN and divides by an " +
					"infinite sum.",
				Aliases:   f.aliases,
				Inplace:   [][2]int{{0, 0}},
				Precision: precision,
			},
			Inputs:    func(p SoftmaxParams) []op.Input { return withLength(p, "data") },
			Infer:     inferSoftmax,
			InferType: inferSoftmaxType,
			Grad: func(g *op.Grad, p SoftmaxParams) []op.Entry {
				in := []op.Entry{g.Head(0), g.Out(0), g.In(0)}
				in = append(in, g.Node.In[1:]...)
				dx := make([]op.Entry, len(g.Node.In))
				dx[0] = f.back.Apply(p, in...)
				return dx
			},
			Ref: func(p SoftmaxParams, c *op.Call) error { return f.kind.forward(p, c) },
		})
		f.back.Define(op.Spec[SoftmaxParams]{
			Traits: op.Traits{Hidden: true, Ignores: []int{2}, Inplace: [][2]int{{0, 0}, {1, 0}}},
			Inputs: func(p SoftmaxParams) []op.Input {
				return withLength(p, "grad", "output", "data")
			},
			Infer: func(p SoftmaxParams, in, out []dtype.Shape) error {
				first := append(in[:2:2], out...)
				if err := op.SameShape(p, first, in[2:3]); err != nil {
					return err
				}
				copy(in, first[:2])
				copy(out, first[2:])
				return inferLength(p, in[2], in[3:])
			},
			InferType: inferSoftmaxGradType,
			Grad: func(g *op.Grad, p SoftmaxParams) []op.Entry {
				return f.kind.second(g, p, f.back)
			},
			Ref: func(p SoftmaxParams, c *op.Call) error { return f.kind.backward(p, c) },
		})
	}
}

// softmaxKind tells the members of the family apart.
type softmaxKind struct {
	sign float64
	log  bool
}

func withLength(p SoftmaxParams, names ...string) []op.Input {
	if p.UseLength {
		names = append(names, "length")
	}
	return Inputs[SoftmaxParams](names...)(p)
}

func inferSoftmax(p SoftmaxParams, in, out []dtype.Shape) error {
	if err := op.SameShape(p, in[:1], out); err != nil {
		return err
	}
	return inferLength(p, in[0], in[1:])
}

// inferLength infers that length has the shape of data without the axis.
func inferLength(p SoftmaxParams, data dtype.Shape, length []dtype.Shape) error {
	if data == nil {
		return nil
	}
	a, err := Axis("axis", p.Axis.Value(), len(data))
	if err != nil || len(length) == 0 {
		return err
	}
	mask := make([]bool, len(data))
	mask[a] = true
	return op.Require("length", &length[0], ReducedShape(data, mask, false))
}

func inferSoftmaxType(p SoftmaxParams, in, out []dtype.Type) error {
	if err := checkFloat(in[0]); err != nil {
		return err
	}
	if t, ok := p.DType.Get(); ok {
		return requireType("output", &out[0], t)
	}
	return op.SameType(p, in[:1], out)
}

func inferSoftmaxGradType(p SoftmaxParams, in, out []dtype.Type) error {
	if err := op.SameType(p, in[2:3], out); err != nil {
		return err
	}
	if t, ok := p.DType.Get(); ok {
		in[0], in[1] = t, t
		return nil
	}
	return op.SameType(p, in[:3], out)
}

func checkFloat(t dtype.Type) error {
	if t != dtype.Unknown && !t.IsFloat() {
		return op.Errorf("data", "element type %v, want a floating-point type", t)
	}
	return nil
}

// lanes calls f for every vector along an axis: its first element, the distance between
// elements, how many there are and how many of them count.
func lanes(p SoftmaxParams, shape dtype.Shape, length []op.Tensor,
	f func(at, step, n, valid int)) error {
	a, err := Axis("axis", p.Axis.Value(), len(shape))
	if err != nil {
		return err
	}
	n, step := shape[a], shape[a+1:].Size()
	outer := shape[:a].Size()
	var valid []int64
	if p.UseLength {
		valid = loop.Ints(length[0])
	}
	for i := range outer {
		for j := range step {
			count := n
			if valid != nil {
				count = int(max(0, min(valid[i*step+j], int64(n))))
			}
			f(i*n*step+j, step, n, count)
		}
	}
	return nil
}

func (k softmaxKind) forward(p SoftmaxParams, c *op.Call) error {
	x := loop.Floats(c.In[0])
	factor := k.sign / p.Temperature.Or(1)
	err := lanes(p, c.In[0].Shape, c.In[1:], func(at, step, n, valid int) {
		top, sum := math.Inf(-1), 0.0
		for i := range valid {
			x[at+i*step] *= factor
			top = maxNaN(top, x[at+i*step])
		}
		for i := range valid {
			sum += math.Exp(x[at+i*step] - top)
		}
		for i := range n {
			v := &x[at+i*step]
			switch {
			case i >= valid:
				*v = 0
			case k.log:
				*v = *v - top - math.Log(sum)
			default:
				*v = math.Exp(*v-top) / sum
			}
		}
	})
	loop.Store(c.Out[0], 0, x)
	return err
}

func (k softmaxKind) backward(p SoftmaxParams, c *op.Call) error {
	dy, y := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	factor := k.sign / p.Temperature.Or(1)
	err := lanes(p, c.In[0].Shape, c.In[3:], func(at, step, n, valid int) {
		sum := 0.0
		for i := range valid {
			if k.log {
				sum += dy[at+i*step]
			} else {
				sum += dy[at+i*step] * y[at+i*step]
			}
		}
		for i := range n {
			o := at + i*step
			switch {
			case i >= valid:
				dy[o] = 0
			case k.log:
				dy[o] = factor * (dy[o] - math.Exp(y[o])*sum)
			default:
				dy[o] = factor * y[o] * (dy[o] - sum)
			}
		}
	})
	loop.Store(c.Out[0], 0, dy)
	return err
}
