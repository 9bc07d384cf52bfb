package contrib

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// QuadraticParams configures Quadratic.
type QuadraticParams struct {
	A float64 `op:"a" doc:"factor of x²"`
	B float64 `op:"b" doc:"factor of x"`
	C float64 `op:"c" doc:"what is added"`
}

// GradientMultiplierParams configures GradientMultiplier.
type GradientMultiplierParams struct {
	Scalar op.Opt[float64] `op:"scalar" default:"1" doc:"what the gradient is multiplied by"`
	NotInt bool            `op:"is_int,not" doc:"whether scalar is an integer; without effect"`
}

// Element-wise functions.
var (
	DivSqrtDim         = op.Declare[op.NoParams]("_contrib_div_sqrt_dim")
	Quadratic          = op.Declare[QuadraticParams]("_contrib_quadratic")
	GradientMultiplier = op.Declare[GradientMultiplierParams]("_contrib_gradientmultiplier")
)

func init() {
	DivSqrtDim.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "ContribDivSqrtDim divides by the square root of the last extent, as attention " +
				"scales its scores.",
			Inplace: [][2]int{{0, 0}},
		},
		Infer:     op.SameShape[op.NoParams],
		InferType: op.FloatType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{DivSqrtDim.Apply(p, g.Head(0))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			s := c.In[0].Shape
			if len(s) == 0 {
				return op.Errorf("data", "shape %v, want at least one axis", s)
			}
			d := math.Sqrt(float64(s[len(s)-1]))
			loop.Map(loop.Func1{F: func(x float64) float64 { return x / d }}, c.Out[0], c.In[0])
			return nil
		},
	})
	Quadratic.Define(op.Spec[QuadraticParams]{
		Traits: op.Traits{
			Doc:     "ContribQuadratic computes a·x² + b·x + c element by element.",
			Inplace: [][2]int{{0, 0}},
		},
		Infer: op.SameShape[QuadraticParams],
		Grad: func(g *op.Grad, p QuadraticParams) []op.Entry {
			// not a quadratic operator with a = 0: zero times an infinite square is NaN
			slope := prim.PlusScalar.Apply(prim.ScalarParams{Scalar: p.B},
				prim.MulScalar.Apply(prim.ScalarParams{Scalar: 2 * p.A}, g.In(0)))
			return []op.Entry{prim.ElemwiseMul.Apply(op.NoParams{}, g.Head(0), slope)}
		},
		Ref: func(p QuadraticParams, c *op.Call) error {
			loop.Map(loop.Func1{F: func(x float64) float64 { return (p.A*x+p.B)*x + p.C }},
				c.Out[0], c.In[0])
			return nil
		},
		Storage: func(p QuadraticParams, in []op.Storage) ([]op.Storage, bool) {
			return in[:1], in[0] == op.Dense || in[0] == op.CSR && p.C == 0
		},
		Sparse: func(p QuadraticParams, c *op.Call) error {
			return loop.MapStored(loop.Func1{F: func(x float64) float64 { return (p.A*x + p.B) * x }},
				c)
		},
	})
	GradientMultiplier.Define(op.Spec[GradientMultiplierParams]{
		Traits: op.Traits{
			Doc: "ContribGradientmultiplier returns data and multiplies the gradient by a " +
				"number; a negative number reverses the gradient.",
			Identity: true,
		},
		Infer: op.SameShape[GradientMultiplierParams],
		Grad: func(g *op.Grad, p GradientMultiplierParams) []op.Entry {
			return []op.Entry{prim.MulScalar.Apply(prim.ScalarParams{Scalar: p.Scalar.Value()},
				g.Head(0))}
		},
		Ref: func(_ GradientMultiplierParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			return nil
		},
		Storage: op.StoreLike[GradientMultiplierParams],
		Sparse:  prim.CopyStored[GradientMultiplierParams],

		GradStorage: op.GradLikeHead[GradientMultiplierParams],
	})
	defineAllClose()
}

// AllCloseParams configures AllClose.
type AllCloseParams struct {
	RTol        op.Opt[float64] `op:"rtol" default:"1e-05" doc:"allowed difference relative to b"`
	ATol        op.Opt[float64] `op:"atol" default:"1e-08" doc:"allowed difference"`
	NotEqualNaN bool            `op:"equal_nan,not" doc:"whether two NaNs are equal"`
}

// AllClose compares two arrays.
var AllClose = op.Declare[AllCloseParams]("_contrib_allclose")

func defineAllClose() {
	AllClose.Define(op.Spec[AllCloseParams]{
		Traits: op.Traits{
			Doc: "ContribAllclose is 1 when |a - b| ≤ atol + rtol·|b| for all elements of two " +
				"arrays of one shape, otherwise 0: a single uint8 without axes. Infinities are " +
				"close to themselves.",
			NoGrad: "it is a comparison",
		},
		Inputs: prim.Inputs[AllCloseParams]("a", "b"),
		Infer: func(p AllCloseParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in, nil); err != nil {
				return err
			}
			return op.Require("output", &out[0], dtype.Shape{})
		},
		InferType: func(p AllCloseParams, in, out []dtype.Type) error {
			if err := op.SameType(p, []dtype.Type{dtype.Uint8}, out); err != nil {
				return err
			}
			return op.SameType(p, in, nil)
		},
		Ref: func(p AllCloseParams, c *op.Call) error {
			all, a, b := 1.0, loop.Floats(c.In[0]), loop.Floats(c.In[1])
			for i, v := range b {
				if !p.close(a[i], v) {
					all = 0
				}
			}
			loop.Fill(c.Out[0], all)
			return nil
		},
	})
}

func (p AllCloseParams) close(a, b float64) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return math.IsNaN(a) && math.IsNaN(b) && !p.NotEqualNaN
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	return math.Abs(a-b) <= p.ATol.Value()+p.RTol.Value()*math.Abs(b)
}
