package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// RotaryEmbeddingParams configures RotaryEmbedding.
type RotaryEmbeddingParams struct {
	Size        int             `op:"size" min:"0" doc:"elements of a head, an even number; 0: the last axis is one head"`
	Base        op.Opt[float64] `op:"base" default:"10000" doc:"pair i turns by base^(-2i/size) from step to step"`
	Offset      int             `op:"offset" doc:"position of the first step"`
	Interleaved bool            `op:"interleaved" doc:"a pair is two neighbours; otherwise its elements are half a head apart"`
	UsePosition bool            `op:"use_position" doc:"the input position has a number for each sequence, which is added to the offset"`
}

var (
	// RotaryEmbedding turns pairs of elements by angles that grow with the position.
	RotaryEmbedding = op.Declare[RotaryEmbeddingParams]("RotaryEmbedding")
	rotaryGrad      = op.Declare[RotaryEmbeddingParams]("_backward_RotaryEmbedding")
)

func init() {
	RotaryEmbedding.Define(op.Spec[RotaryEmbeddingParams]{
		Traits: op.Traits{
			Doc: `RotaryEmbedding turns pairs of elements by angles that grow with the position.

Data has shape (..., length, heads·size); each head of size elements has size/2 pairs. Pair i at
step t turns by (offset + position + t)·base^(-2i/size) radians: (a, b) becomes (a·cos - b·sin,
a·sin + b·cos). The elements of pair i are i and i + size/2 of their head, or with interleaved 2i
and 2i + 1. The input position of use_position has one integer for each entry of the first axis.
MXNet has no such operator. Source: Su et al., RoFormer, 2021.`,
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Inner,
		},
		Inputs:    rotaryInputs,
		Infer:     inferRotary,
		InferType: inferRotaryType,
		Check:     RotaryEmbeddingParams.check,
		Grad: func(g *op.Grad, p RotaryEmbeddingParams) []op.Entry {
			return rotaryBack(g, rotaryGrad, p)
		},
		FLOPs: func(_ RotaryEmbeddingParams, in, _ []dtype.Shape) int64 {
			return 3 * int64(in[0].Size())
		},
		Ref: func(p RotaryEmbeddingParams, c *op.Call) error { return rotaryRef(p, c, 1) },
	})
	rotaryGrad.Define(op.Spec[RotaryEmbeddingParams]{
		Traits:    op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs:    rotaryInputs,
		Infer:     inferRotary,
		InferType: inferRotaryType,
		Check:     RotaryEmbeddingParams.check,
		Grad: func(g *op.Grad, p RotaryEmbeddingParams) []op.Entry {
			return rotaryBack(g, RotaryEmbedding, p)
		},
		Ref: func(p RotaryEmbeddingParams, c *op.Call) error { return rotaryRef(p, c, -1) },
	})
}

// rotaryBack turns the gradient back.
func rotaryBack(g *op.Grad, back op.Handle[RotaryEmbeddingParams],
	p RotaryEmbeddingParams) []op.Entry {
	in := make([]op.Entry, len(g.Node.In))
	in[0] = back.Apply(p, append([]op.Entry{g.Head(0)}, g.Node.In[1:]...)...)
	return in
}

func rotaryInputs(p RotaryEmbeddingParams) []op.Input {
	return []op.Input{{Name: "data"}, {Name: "position"}}[:1+boolInt(p.UsePosition)]
}

func inferRotary(p RotaryEmbeddingParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil || in[0] == nil {
		return err
	}
	x := in[0]
	if len(x) < 2+boolInt(p.UsePosition) {
		return op.Errorf("data", "shape %v, want at least %d axes", x, 2+boolInt(p.UsePosition))
	}
	if n := x[len(x)-1]; n >= 0 && (p.Size == 0 && n%2 != 0 || p.Size > 0 && n%p.Size != 0) {
		return op.Errorf("data", "shape %v, want a last axis of a multiple of %d", x,
			max(p.Size, 2))
	}
	if !p.UsePosition {
		return nil
	}
	if err := op.Require("position", &in[1], dtype.Shape{x[0]}); err != nil {
		return err
	}
	x[0] = in[1][0]
	out[0] = x.Clone()
	return nil
}

func inferRotaryType(p RotaryEmbeddingParams, in, out []dtype.Type) error {
	if p.UsePosition {
		if err := integers("position", &in[1]); err != nil {
			return err
		}
	}
	return op.FloatType(p, in[:1], out)
}

// integers infers that an operand has an integer type, int32 unless another one is known.
func integers(arg string, t *dtype.Type) error {
	if *t == dtype.Unknown {
		*t = dtype.Int32
	}
	if *t != dtype.Int32 && *t != dtype.Int64 {
		return op.Errorf(arg, "element type %v, want int32 or int64", *t)
	}
	return nil
}

// check reports parameters that describe no pairs.
func (p RotaryEmbeddingParams) check() error {
	if p.Size < 0 || p.Size%2 != 0 {
		return op.Errorf("size", "%d, want an even number, or 0", p.Size)
	}
	if !(p.Base.Value() > 0) {
		return op.Errorf("base", "%v, want a number above 0", p.Base.Value())
	}
	return nil
}

// rates returns the angles of all pairs from step to step, for a last axis of width elements.
func (p RotaryEmbeddingParams) rates(width int) []float64 {
	size := p.Size
	if size == 0 {
		size = width
	}
	r := make([]float64, size/2)
	for i := range r {
		r[i] = math.Pow(p.Base.Value(), -2*float64(i)/float64(size))
	}
	return r
}

// rotaryRef turns by the angles times way.
func rotaryRef(p RotaryEmbeddingParams, c *op.Call, way float64) error {
	x, s := loop.Floats(c.In[0]), c.In[0].Shape
	width, length := extent(s, -1), extent(s, -2)
	rate := p.rates(width)
	var position []float64
	if p.UsePosition {
		position = loop.Floats(c.In[1])
	}
	n := len(rate)
	for at := 0; at < len(x); at += 2 * n {
		step := at / width
		t := float64(p.Offset + step%length)
		if position != nil {
			t += position[at/(len(x)/s[0])]
		}
		for i, r := range rate {
			a, b := at+i, at+i+n
			if p.Interleaved {
				a, b = at+2*i, at+2*i+1
			}
			sin, cos := math.Sincos(t * r)
			sin *= way
			x[a], x[b] = x[a]*cos-x[b]*sin, x[a]*sin+x[b]*cos
		}
	}
	store(c.Out[0], x)
	return nil
}
