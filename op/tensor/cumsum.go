package tensor

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// CumSumParams are the parameters of CumSum.
type CumSumParams struct {
	Axis  op.Opt[int]        `op:"axis" doc:"axis to sum along; None: flatten first"`
	DType op.Opt[dtype.Type] `op:"dtype" doc:"element type of the output; None: that of the input"`
}

// CumSum computes running sums.
var (
	CumSum     = op.Declare[CumSumParams]("_np_cumsum")
	cumSumGrad = op.Declare[CumSumParams]("_backward_np_cumsum")
)

func init() {
	CumSum.Define(op.Spec[CumSumParams]{
		Traits: op.Traits{
			Doc:     "CumSum computes running sums along an axis, or of the flattened array.",
			GoName:  "CumSum",
			Aliases: []string{"cumsum"},
		},
		Inputs:    prim.Inputs[CumSumParams]("a"),
		Infer:     inferCumSum,
		InferType: cumSumType,
		Grad: func(g *op.Grad, p CumSumParams) []op.Entry {
			return []op.Entry{cumSumGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(p CumSumParams, c *op.Call) error { return running(p, c, false) },
	})
	cumSumGrad.Define(op.Spec[CumSumParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: prim.Inputs[CumSumParams]("grad", "like"),
		Infer: func(p CumSumParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[1:], out); err != nil {
				return err
			}
			return inferCumSum(p, in[1:], in[:1])
		},
		InferType: func(p CumSumParams, in, out []dtype.Type) error {
			if err := cumSumType(p, in[1:], in[:1]); err != nil {
				return err
			}
			return op.SameType(p, in[1:], out)
		},
		Grad: func(g *op.Grad, p CumSumParams) []op.Entry {
			return []op.Entry{CumSum.Apply(p, g.Head(0)), {}}
		},
		Ref: func(p CumSumParams, c *op.Call) error { return running(p, c, true) },
	})
}

func inferCumSum(p CumSumParams, in, out []dtype.Shape) error {
	if p.Axis.IsSet() {
		return op.SameShape(p, in, out)
	}
	return op.Require("output", &out[0], dtype.Shape{in[0].Size()})
}

func cumSumType(p CumSumParams, in, out []dtype.Type) error {
	if t, ok := p.DType.Get(); ok {
		return setType(&out[0], t)
	}
	return op.SameType(p, in, out)
}

// setType sets an element type that is not known yet, or reports both.
func setType(t *dtype.Type, want dtype.Type) error {
	if *t != dtype.Unknown && *t != want {
		return op.Errorf("output", "element type %v, want %v", *t, want)
	}
	*t = want
	return nil
}

// running sums from the first element on, or backwards from the last one.
func running(p CumSumParams, c *op.Call, backwards bool) error {
	in, out := c.In[0], c.Out[0]
	n, step := in.Shape.Size(), 1
	if axis, ok := p.Axis.Get(); ok {
		a, err := prim.Axis("axis", axis, len(in.Shape))
		if err != nil {
			return err
		}
		n, step = in.Shape[a], in.Shape[a+1:].Size()
	}
	if loop.Exact(in.DType) && loop.Exact(out.DType) {
		x := loop.Ints(in)
		accumulate(x, n, step, backwards)
		loop.StoreInt(out, 0, x)
		return nil
	}
	x := loop.Floats(in)
	if out.DType.IsInt() { // as in NumPy, elements are converted before they are summed
		for i := range x {
			x[i] = math.Trunc(x[i])
		}
	}
	accumulate(x, n, step, backwards)
	loop.Store(out, 0, x)
	return nil
}

func accumulate[T float64 | int64](x []T, n, step int, backwards bool) {
	for at := range x {
		i := at / step % n
		if backwards {
			at = len(x) - 1 - at
			i = n - 1 - at/step%n
			if i > 0 {
				x[at] += x[at+step]
			}
		} else if i > 0 {
			x[at] += x[at-step]
		}
	}
}
