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
	// CastLike converts to the element type of its second input.
	CastLike = op.Declare[op.NoParams]("_cast_like")
)

func init() {
	s := op.Spec[CastParams]{
		Traits: op.Traits{
			Doc: "Cast converts to an element type. Conversion to integers cuts off the " +
				"fraction; values that an integer type cannot hold convert as x86 processors do " +
				"it.",
			Aliases: []string{"_npi_cast", "_npx_cast", "cast"},
			Layouts: true,
			Inplace: [][2]int{{0, 0}},
		},
		Infer: op.SameShape[CastParams],
		InferType: func(p CastParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], p.DType)
		},
		Grad: func(g *op.Grad, _ CastParams) []op.Entry {
			return []op.Entry{CastLike.Apply(none, g.Head(0), g.In(0))}
		},
		Neutral: op.Always[CastParams],
		Ref:     func(_ CastParams, c *op.Call) error { return convert(c) },
	}
	Cast.Define(s)
	s.Doc = "AmpCast converts arrays of the types of mixed precision, float16, bfloat16 and " +
		"float32; other arrays pass unchanged."
	s.Aliases = nil
	s.InferType = func(p CastParams, in, out []dtype.Type) error {
		if in[0] == dtype.Unknown {
			return nil
		}
		if isMixed(in[0]) {
			return requireType("output", &out[0], p.DType)
		}
		return op.SameType(p, in, out)
	}
	AmpCast.Define(s)
	defineAmpMultiCast()
	CastLike.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Inplace: [][2]int{{0, 0}}},
		Inputs: Inputs[op.NoParams]("data", "like"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			return op.SameShape(p, in[:1], out)
		},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return op.SameType(p, in[1:], out)
		},
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{CastLike.Apply(none, g.Head(0), g.In(0)), {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error { return convert(c) },
	})
}

func defineAmpMultiCast() {
	AmpMultiCast.Define(op.Spec[AmpMultiCastParams]{
		Traits: op.Traits{
			Doc: "AmpMultiCast converts arrays of the types of mixed precision, float16, " +
				"bfloat16 and float32, to the widest of their element types, or to the " +
				"narrowest; other arrays pass unchanged.",
			GoName:   "AmpMultiCast",
			Variadic: true,
			Multi:    true,
		},
		Inputs:  func(p AmpMultiCastParams) []op.Input { return args(p.NumOutputs) },
		Outputs: func(p AmpMultiCastParams) []string { return numbered(p.NumOutputs) },
		Infer: func(_ AmpMultiCastParams, in, out []dtype.Shape) error {
			return eachLike(in, out)
		},
		InferType: func(p AmpMultiCastParams, in, out []dtype.Type) error {
			common, known := commonFloat(p, in)
			if !known {
				return nil
			}
			for i, t := range in {
				want := t
				if isMixed(t) {
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
				in[i] = CastLike.Apply(none, g.Head(i), g.In(i))
			}
			return in
		},
		Ref: func(_ AmpMultiCastParams, c *op.Call) error { return convertEach(c) },
	})
}

// convertEach converts each input to the type of the output at its place, where one is wanted.
func convertEach(c *op.Call) error {
	for i, out := range c.Out {
		if out.Data == nil {
			continue
		}
		if err := convert(&op.Call{In: c.In[i : i+1], Out: c.Out[i : i+1]}); err != nil {
			return err
		}
	}
	return nil
}

// isMixed reports whether t takes part in mixed precision: float64 and integers do not.
func isMixed(t dtype.Type) bool {
	return t == dtype.Float16 || t == dtype.BFloat16 || t == dtype.Float32
}

// commonFloat returns the widest or narrowest type of mixed precision among the inputs, and whether
// all inputs' types are known.
func commonFloat(p AmpMultiCastParams, in []dtype.Type) (common dtype.Type, known bool) {
	common = dtype.Unknown
	for _, t := range in {
		if t == dtype.Unknown {
			return t, false
		}
		if isMixed(t) && (common == dtype.Unknown || (t.Size() > common.Size()) != p.CastNarrow &&
			t.Size() != common.Size()) {
			common = t
		}
	}
	return common, true
}

// requireType sets an element type that is not known yet, or reports both.
func requireType(arg string, t *dtype.Type, want dtype.Type) error {
	if want != dtype.Unknown && !want.Valid() {
		return op.Errorf("dtype", "%v is not an element type", want)
	}
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
