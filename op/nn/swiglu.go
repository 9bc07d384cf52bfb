package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// SwiGLUParams configures SwiGLU.
type SwiGLUParams struct {
	Separate bool `op:"separate" doc:"a and b are two inputs, data and linear, of one shape; otherwise they are the halves of data"`
}

var (
	// SwiGLU is a linear unit with a gate: silu(a)·b.
	SwiGLU     = op.Declare[SwiGLUParams]("SwiGLU")
	swiGLUGrad = op.Declare[SwiGLUParams]("_backward_SwiGLU")
)

func init() {
	SwiGLU.Define(op.Spec[SwiGLUParams]{
		Traits: op.Traits{
			Doc: `SwiGLU is a linear unit with a gate: silu(a)·b, with silu(a) = a·sigmoid(a).

Data of shape (..., 2n) holds a in the first and b in the second half of its last axis; the output
has shape (..., n). With separate, data is a and the input linear is b. MXNet has no such operator.
Source: Shazeer, GLU Variants Improve Transformer, 2020.`,
			Precision: op.Inner,
		},
		Inputs: func(p SwiGLUParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "linear"}}[:1+boolInt(p.Separate)]
		},
		Infer:     inferSwiGLU,
		InferType: op.FloatType[SwiGLUParams],
		Grad: func(g *op.Grad, p SwiGLUParams) []op.Entry {
			return g.Each(swiGLUGrad.Node(p, append([]op.Entry{g.Head(0)}, g.Node.In...)...))
		},
		FLOPs: func(_ SwiGLUParams, _, out []dtype.Shape) int64 { return 4 * int64(out[0].Size()) },
		Ref:   swiGLURef,
	})
	swiGLUGrad.Define(op.Spec[SwiGLUParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: func(p SwiGLUParams) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "data"}, {Name: "linear"}}[:2+
				boolInt(p.Separate)]
		},
		Outputs: func(p SwiGLUParams) []string {
			return []string{"data", "linear"}[:1+boolInt(p.Separate)]
		},
		Infer:     inferSwiGLUGrad,
		InferType: op.FloatType[SwiGLUParams],
		Grad:      swiGLUSecond,
		Ref:       swiGLUGradRef,
	})
}

func inferSwiGLU(p SwiGLUParams, in, out []dtype.Shape) error {
	if p.Separate {
		return op.SameShape(p, in, out)
	}
	x, y := in[0].Clone(), out[0].Clone()
	if x == nil && y == nil {
		return nil
	}
	if len(x) == 0 && x != nil || len(y) == 0 && y != nil {
		return op.Errorf("data", "an array without axes, want at least 1 axis")
	}
	if x != nil && y != nil && len(x) != len(y) {
		return op.Errorf("output", "shape %v for data of shape %v, want as many axes", y, x)
	}
	last := max(len(x), len(y)) - 1
	if x != nil && x[last] >= 0 {
		if x[last]%2 != 0 {
			return op.Errorf("data", "shape %v, want a last axis of even extent", x)
		}
		x[last] /= 2
	}
	m, ok := x.Merge(y)
	if !ok {
		return op.Errorf("output", "shape %v for data of shape %v", y, in[0])
	}
	out[0], in[0] = m, m.Clone()
	if m[last] >= 0 {
		in[0][last] *= 2
	}
	return nil
}

func inferSwiGLUGrad(p SwiGLUParams, in, out []dtype.Shape) error {
	for i := range out {
		if err := op.Same("gradient", &in[1+i], &out[i]); err != nil {
			return err
		}
	}
	if err := inferSwiGLU(p, in[1:], in[:1]); err != nil {
		return err
	}
	for i := range out {
		out[i] = in[1+i].Clone()
	}
	return nil
}

// halves calls f with the places in data of a and b and in the output of every element.
func (p SwiGLUParams) halves(out dtype.Shape, f func(a, b, y int)) {
	n, size := extent(out, -1), out.Size()
	for y := range size {
		if p.Separate {
			f(y, size+y, y)
			continue
		}
		a := y/n*2*n + y%n
		f(a, a+n, y)
	}
}

// floatsOf returns the elements of all operands, one operand behind the other.
func floatsOf(list []op.Tensor) []float64 {
	var x []float64
	for _, t := range list {
		x = append(x, loop.Floats(t)...)
	}
	return x
}

func swiGLURef(p SwiGLUParams, c *op.Call) error {
	x, y := floatsOf(c.In), make([]float64, c.Out[0].Shape.Size())
	p.halves(c.Out[0].Shape, func(a, b, i int) { y[i] = x[a] * sigmoid(x[a]) * x[b] })
	store(c.Out[0], y)
	return nil
}

func swiGLUGradRef(p SwiGLUParams, c *op.Call) error {
	dy, x := loop.Floats(c.In[0]), floatsOf(c.In[1:])
	dx := make([]float64, len(x))
	p.halves(c.In[0].Shape, func(a, b, i int) {
		s := sigmoid(x[a])
		dx[a] = dy[i] * x[b] * s * (1 + x[a]*(1-s))
		dx[b] = dy[i] * x[a] * s
	})
	if !p.Separate {
		return storeWanted(c, dx)
	}
	return storeWanted(c, dx[:len(dy)], dx[len(dy):])
}

// swiGLUSecond differentiates swiGLUGradRef.
func swiGLUSecond(g *op.Grad, p SwiGLUParams) []op.Entry {
	return g.Through(func(in []op.Entry) []op.Entry {
		dy, a := in[0], in[1]
		var b op.Entry
		if p.Separate {
			b = in[2]
		} else {
			both := prim.SliceChannel.Node(prim.SliceChannelParams{NumOutputs: 2, Axis: op.Some(-1)}, a)
			a, b = both.Entry(0), both.Entry(1)
		}
		s := prim.Sigmoid.Apply(none, a)
		bend := mul(s, plus(mul(a, plus(scale(s, -1), 1)), 1))
		da, db := mul(mul(dy, b), bend), mul(dy, mul(a, s))
		if p.Separate {
			return []op.Entry{da, db}
		}
		return []op.Entry{prim.Concat.Apply(prim.ConcatParams{NumArgs: 2, Dim: op.Some(-1)}, da,
			db)}
	})
}
