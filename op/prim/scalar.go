package prim

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ScalarParams are the parameters of operators of an array and a number.
type ScalarParams struct {
	Scalar float64 `op:"scalar,required" absent:"1" doc:"the number; rounded to the element type of the array, cut off for integers"`
	NotInt bool    `op:"is_int,not" doc:"whether the number is an integer; if not, arrays of integers and booleans become float64"`
}

// The functions of an array and a number.
var (
	PlusScalar         = op.Declare[ScalarParams]("_plus_scalar")
	MinusScalar        = op.Declare[ScalarParams]("_minus_scalar")
	RMinusScalar       = op.Declare[ScalarParams]("_rminus_scalar")
	MulScalar          = op.Declare[ScalarParams]("_mul_scalar")
	DivScalar          = op.Declare[ScalarParams]("_div_scalar")
	RDivScalar         = op.Declare[ScalarParams]("_rdiv_scalar")
	ModScalar          = op.Declare[ScalarParams]("_mod_scalar")
	RModScalar         = op.Declare[ScalarParams]("_rmod_scalar")
	PowerScalar        = op.Declare[ScalarParams]("_power_scalar")
	RPowerScalar       = op.Declare[ScalarParams]("_rpower_scalar")
	HypotScalar        = op.Declare[ScalarParams]("_hypot_scalar")
	MaximumScalar      = op.Declare[ScalarParams]("_maximum_scalar")
	MinimumScalar      = op.Declare[ScalarParams]("_minimum_scalar")
	EqualScalar        = op.Declare[ScalarParams]("_equal_scalar")
	NotEqualScalar     = op.Declare[ScalarParams]("_not_equal_scalar")
	GreaterScalar      = op.Declare[ScalarParams]("_greater_scalar")
	GreaterEqualScalar = op.Declare[ScalarParams]("_greater_equal_scalar")
	LesserScalar       = op.Declare[ScalarParams]("_lesser_scalar")
	LesserEqualScalar  = op.Declare[ScalarParams]("_lesser_equal_scalar")
	LogicalAndScalar   = op.Declare[ScalarParams]("_logical_and_scalar")
	LogicalOrScalar    = op.Declare[ScalarParams]("_logical_or_scalar")
	LogicalXorScalar   = op.Declare[ScalarParams]("_logical_xor_scalar")
)

// scalar is a row of the table: f(x, s), and the gradient from the input x, the output y, its
// gradient dy and the number s; nil means constant almost everywhere.
type scalar struct {
	op      op.Handle[ScalarParams]
	goName  string
	what    string // with x for the array and s for the number
	aliases []string
	f       loop.Func2
	grad    func(x, y, dy op.Entry, s float64) op.Entry
}

func init() {
	for _, table := range [][]scalar{scalarArithmetic(), scalarComparisons()} {
		for _, row := range table {
			row.define()
		}
	}
}

func (r scalar) define() {
	s := op.Spec[ScalarParams]{
		Traits: op.Traits{
			Doc:       r.goName + " computes " + r.what + " for every element x and the number s.",
			Aliases:   r.aliases,
			GoName:    r.goName,
			Inplace:   [][2]int{{0, 0}},
			Pointwise: true,
		},
		Infer:     op.SameShape[ScalarParams],
		InferType: scalarType,
		Grad:      ZeroGrad[ScalarParams],
		Ref: func(p ScalarParams, c *op.Call) error {
			loop.Map(r.function(p, c.In[0].DType), c.Out[0], c.In[0])
			return nil
		},
	}
	switch r.op {
	case PlusScalar, MinusScalar:
		s.Neutral = func(p ScalarParams) bool { return p.Scalar == 0 }
	case MulScalar, DivScalar, PowerScalar:
		s.Neutral = func(p ScalarParams) bool { return p.Scalar == 1 }
	}
	switch r.op {
	case RDivScalar, PowerScalar, RPowerScalar, HypotScalar:
		s.Precision = op.Wide
	}
	if r.grad != nil {
		s.Grad = func(g *op.Grad, p ScalarParams) []op.Entry {
			return []op.Entry{r.grad(g.In(0), g.Out(0), g.Head(0), p.Scalar)}
		}
	}
	r.storeScalar(&s)
	r.op.Define(s)
}

// function returns the function of one element of type t.
func (r scalar) function(p ScalarParams, t dtype.Type) loop.Func1 {
	if loop.Exact(t) && p.NotInt {
		return loop.Func1{F: func(x float64) float64 { return r.f.F(x, p.Scalar) }}
	}
	s := round(t, p.Scalar)
	f := loop.Func1{F: func(x float64) float64 { return r.f.F(x, s) }}
	if r.f.I != nil {
		n := int64(s)
		f.I = func(x int64) int64 { return r.f.I(x, n) }
	}
	return f
}

// round returns the value that v has in an element type; booleans count as integers.
func round(t dtype.Type, v float64) float64 {
	switch t {
	case dtype.Float64:
		return v
	case dtype.Float32:
		return float64(float32(v))
	}
	if loop.Exact(t) {
		t = dtype.Int64
	}
	cell := op.Tensor{Desc: op.Plain(t, dtype.Shape{1}), Data: op.TensorOf(make([]int64, 1)).Data}
	loop.Store(cell, 0, []float64{v})
	return loop.Floats(cell)[0]
}

// scalarType keeps the element type, but integers become float64 with a number that is none, and
// booleans int64 or float64.
func scalarType(p ScalarParams, in, out []dtype.Type) error {
	if in[0] == dtype.Bool || p.NotInt && in[0] != dtype.Unknown && loop.Exact(in[0]) {
		want := dtype.Int64
		if p.NotInt {
			want = dtype.Float64
		}
		if out[0] != dtype.Unknown && out[0] != want {
			return op.Errorf("output", "element type %v, want %v for data of type %v", out[0], want,
				in[0])
		}
		out[0] = want
		return nil
	}
	if in[0] == dtype.Unknown && (out[0] == dtype.Int64 || out[0] == dtype.Float64) {
		return nil // the input may be boolean or an integer
	}
	return op.SameType(p, in, out)
}

func scalarArithmetic() []scalar {
	pow := func(x op.Entry, s float64) op.Entry {
		return PowerScalar.Apply(ScalarParams{Scalar: s}, x)
	}
	swap := func(f func(a, b float64) float64) func(a, b float64) float64 {
		return func(a, b float64) float64 { return f(b, a) }
	}
	arith := map[string]loop.Func2{}
	for _, b := range arithmetic() {
		arith[b.bcast.Name] = b.f
	}
	add, sub, times, over := arith["broadcast_add"], arith["broadcast_sub"], arith["broadcast_mul"],
		arith["broadcast_div"]
	return []scalar{
		{PlusScalar, "PlusScalar", "x + s", []string{"_PlusScalar"}, add,
			func(_, _, dy op.Entry, _ float64) op.Entry { return dy }},
		{MinusScalar, "MinusScalar", "x - s", []string{"_MinusScalar"}, sub,
			func(_, _, dy op.Entry, _ float64) op.Entry { return dy }},
		{RMinusScalar, "RMinusScalar", "s - x", []string{"_RMinusScalar"},
			loop.Func2{F: swap(sub.F), I: func(x, s int64) int64 { return s - x }},
			func(_, _, dy op.Entry, _ float64) op.Entry { return neg(dy) }},
		{MulScalar, "MulScalar", "x · s", []string{"_MulScalar"}, times,
			func(_, _, dy op.Entry, s float64) op.Entry { return scale(dy, s) }},
		{DivScalar, "DivScalar", "x / s", []string{"_DivScalar"}, over,
			func(_, _, dy op.Entry, s float64) op.Entry {
				return DivScalar.Apply(ScalarParams{Scalar: s}, dy)
			}},
		{RDivScalar, "RDivScalar", "s / x", []string{"_RDivScalar"},
			loop.Func2{F: swap(over.F), I: func(x, s int64) int64 { return divInt(s, x) }},
			func(x, y, dy op.Entry, _ float64) op.Entry { return neg(div(mul(dy, y), x)) }},
		{ModScalar, "ModScalar", "x modulo s, with the sign of s; 0 where s is 0",
			[]string{"_ModScalar"},
			loop.Func2{F: mod, I: modInt},
			func(_, _, dy op.Entry, _ float64) op.Entry { return dy }},
		{RModScalar, "RModScalar", "s modulo x, with the sign of x; 0 where x is 0",
			[]string{"_RModScalar"},
			loop.Func2{F: swap(mod), I: func(x, s int64) int64 { return modInt(s, x) }},
			func(x, _, dy op.Entry, s float64) op.Entry {
				return neg(mul(dy, Floor.Apply(none, RDivScalar.Apply(ScalarParams{Scalar: s}, x))))
			}},
		{PowerScalar, "PowerScalar", "x to the power s", []string{"_PowerScalar"},
			loop.Func2{F: math.Pow},
			func(x, _, dy op.Entry, s float64) op.Entry { return mul(scale(dy, s), pow(x, s-1)) }},
		{RPowerScalar, "RPowerScalar", "s to the power x", []string{"_RPowerScalar"},
			loop.Func2{F: swap(math.Pow)},
			func(_, y, dy op.Entry, s float64) op.Entry { return mul(scale(dy, math.Log(s)), y) }},
		{HypotScalar, "HypotScalar", "√(x² + s²)", []string{"_HypotScalar", "_npi_hypot_scalar"},
			loop.Func2{F: math.Hypot},
			func(x, y, dy op.Entry, _ float64) op.Entry { return mul(dy, div(x, y)) }},
		{MaximumScalar, "MaximumScalar", "the larger of x and s", []string{"_MaximumScalar",
			"_npi_maximum_scalar"}, arith["broadcast_maximum"],
			func(x, _, dy op.Entry, s float64) op.Entry {
				return mul(dy, GreaterEqualScalar.Apply(ScalarParams{Scalar: s}, x))
			}},
		{MinimumScalar, "MinimumScalar", "the smaller of x and s", []string{"_MinimumScalar",
			"_npi_minimum_scalar"}, arith["broadcast_minimum"],
			func(x, _, dy op.Entry, s float64) op.Entry {
				return mul(dy, LesserEqualScalar.Apply(ScalarParams{Scalar: s}, x))
			}},
	}
}

func scalarComparisons() []scalar {
	var rows []scalar
	for i, h := range []op.Handle[ScalarParams]{EqualScalar, NotEqualScalar, GreaterScalar,
		GreaterEqualScalar,
		LesserScalar, LesserEqualScalar, LogicalAndScalar, LogicalOrScalar, LogicalXorScalar} {
		b := comparisons()[i]
		name := goName(b.elem) + "Scalar"
		rows = append(rows, scalar{h, name, b.what + " with a for the element and b for the number",
			[]string{"_" + name}, b.f, nil})
	}
	return rows
}
