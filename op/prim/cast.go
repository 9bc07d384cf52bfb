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

// AmpMultiCastParams are the parameters of AmpMultiCast.
type AmpMultiCastParams struct {
	NumOutputs int  `op:"num_outputs,auto" max:"16384" doc:"number of inputs and outputs"`
	CastNarrow bool `op:"cast_narrow" doc:"convert to the narrowest of the types, not to the widest"`
}

// Cast converts to an element type, AmpCast does for floating-point arrays only.
var (
	Cast    = op.Declare[CastParams]("Cast")
	AmpCast = op.Declare[CastParams]("amp_cast")
	// AmpMultiCast converts several arrays to one floating-point type.
	AmpMultiCast = op.Declare[AmpMultiCastParams]("amp_multicast")
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
	defineAmpMultiCast()
	castLike.Define(op.Spec[op.NoParams]{
		Hidden: true,
		Inputs: Inputs[op.NoParams]("data", "like"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			return op.SameShape(p, in[:1], out)
		},
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

func defineAmpMultiCast() {
	AmpMultiCast.Define(op.Spec[AmpMultiCastParams]{
		Doc: "AmpMultiCast converts floating-point arrays to the widest of their element types, or to the narrowest;" +
			" other arrays pass unchanged.",
		GoName:   "AmpMultiCast",
		Inputs:   func(p AmpMultiCastParams) []op.Input { return args(p.NumOutputs) },
		Outputs:  func(p AmpMultiCastParams) []string { return numbered(p.NumOutputs) },
		Variadic: true,
		Multi:    true,
		Infer:    func(_ AmpMultiCastParams, in, out []dtype.Shape) error { return eachLike(in, out) },
		InferType: func(p AmpMultiCastParams, in, out []dtype.Type) error {
			common, err := commonFloat(p, in)
			if err != nil || common == dtype.Unknown {
				return err
			}
			for i, t := range in {
				want := t
				if t.IsFloat() {
					want = common
				}
				if err := requireType("output", &out[i], want); err != nil {
					return err
				}
			}
			return nil
		},
		Grad: func(g *op.Grad, p AmpMultiCastParams) []op.Entry {
			in := make([]op.Entry, p.NumOutputs)
			for i := range in {
				in[i] = castLike.Apply(none, g.Head(i), g.In(i))
			}
			return in
		},
		Ref: func(_ AmpMultiCastParams, c *op.Call) error {
			for i, out := range c.Out {
				if out.Data == nil {
					continue
				}
				if err := convert(&op.Call{In: c.In[i : i+1], Out: c.Out[i : i+1]}); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// commonFloat returns the widest or narrowest floating-point type of the inputs, Unknown while
// one of them is.
func commonFloat(p AmpMultiCastParams, in []dtype.Type) (dtype.Type, error) {
	common := dtype.Unknown
	for _, t := range in {
		if t == dtype.Unknown {
			return t, nil
		}
		if t.IsFloat() && (common == dtype.Unknown || (t.Size() > common.Size()) != p.CastNarrow && t.Size() != common.Size()) {
			common = t
		}
	}
	if common == dtype.Unknown {
		return common, op.Errorf("data", "no floating-point array among %d", len(in))
	}
	return common, nil
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
