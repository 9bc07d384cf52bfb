package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// CastParams are the parameters of Cast.
type CastParams struct {
	DType dtype.Type `op:"dtype,required" doc:"element type of the output"`
}

// Cast converts to an element type, AmpCast does for floating-point arrays only.
var (
	Cast    = op.Declare[CastParams]("Cast")
	AmpCast = op.Declare[CastParams]("amp_cast")
	// castLike converts to the element type of its second input.
	castLike = op.Declare[op.NoParams]("_cast_like")
)

func init() {
	s := op.Spec[CastParams]{
		Doc: "Cast converts to an element type. Conversion to integers cuts off the fraction; values that an" +
			" integer type cannot hold convert as x86 processors do it.",
		Aliases: []string{"_npi_cast", "_npx_cast", "cast"},
		Infer:   op.SameShape[CastParams],
		InferType: func(p CastParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], p.DType)
		},
		Inplace: [][2]int{{0, 0}},
		Grad: func(g *op.Grad, _ CastParams) []op.Entry {
			return []op.Entry{castLike.Apply(none, g.Head(0), g.In(0))}
		},
		Ref: func(_ CastParams, c *op.Call) error { return convert(c) },
	}
	Cast.Define(s)
	s.Doc = "AmpCast converts between floating-point types for mixed precision; other arrays pass unchanged."
	s.Aliases = nil
	s.InferType = func(p CastParams, in, out []dtype.Type) error {
		if in[0] == dtype.Unknown {
			return nil
		}
		if in[0].IsFloat() {
			return requireType("output", &out[0], p.DType)
		}
		return op.SameType(p, in, out)
	}
	AmpCast.Define(s)
	castLike.Define(op.Spec[op.NoParams]{
		Hidden:  true,
		Inputs:  Inputs[op.NoParams]("data", "like"),
		Infer:   op.SameShape[op.NoParams],
		Ignores: []int{1},
		Inplace: [][2]int{{0, 0}},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return op.SameType(p, in[1:], out)
		},
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{castLike.Apply(none, g.Head(0), g.In(0)), {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error { return convert(c) },
	})
}

// requireType sets an element type that is not known yet, or reports both.
func requireType(arg string, t *dtype.Type, want dtype.Type) error {
	if *t != dtype.Unknown && *t != want {
		return op.Errorf(arg, "element type %v, want %v", *t, want)
	}
	*t = want
	return nil
}

func convert(c *op.Call) error {
	in, out := c.In[0], c.Out[0]
	if in.DType == out.DType {
		loop.Move(out, in)
		return nil
	}
	f := loop.Func1{F: func(x float64) float64 { return x }}
	if in.DType != dtype.Uint64 || loop.Exact(out.DType) {
		f.I = same
	}
	loop.Map(f, out, in)
	return nil
}
