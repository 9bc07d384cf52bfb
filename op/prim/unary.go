package prim

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// The functions of one element.
var (
	Abs        = op.Declare[op.NoParams]("abs")
	Sign       = op.Declare[op.NoParams]("sign")
	Negative   = op.Declare[op.NoParams]("negative")
	Reciprocal = op.Declare[op.NoParams]("reciprocal")
	Square     = op.Declare[op.NoParams]("square")
	Sqrt       = op.Declare[op.NoParams]("sqrt")
	Rsqrt      = op.Declare[op.NoParams]("rsqrt")
	Cbrt       = op.Declare[op.NoParams]("cbrt")
	Rcbrt      = op.Declare[op.NoParams]("rcbrt")
	Exp        = op.Declare[op.NoParams]("exp")
	Expm1      = op.Declare[op.NoParams]("expm1")
	Log        = op.Declare[op.NoParams]("log")
	Log10      = op.Declare[op.NoParams]("log10")
	Log2       = op.Declare[op.NoParams]("log2")
	Log1p      = op.Declare[op.NoParams]("log1p")
	Relu       = op.Declare[op.NoParams]("relu")
	Sigmoid    = op.Declare[op.NoParams]("sigmoid")
	Softsign   = op.Declare[op.NoParams]("softsign")
	Tanh       = op.Declare[op.NoParams]("tanh")
	Erf        = op.Declare[op.NoParams]("erf")
	Erfinv     = op.Declare[op.NoParams]("erfinv")
	Gamma      = op.Declare[op.NoParams]("gamma")
	Gammaln    = op.Declare[op.NoParams]("gammaln")
	digamma    = op.Declare[op.NoParams]("_digamma")
	Round      = op.Declare[op.NoParams]("round")
	Rint       = op.Declare[op.NoParams]("rint")
	Ceil       = op.Declare[op.NoParams]("ceil")
	Floor      = op.Declare[op.NoParams]("floor")
	Trunc      = op.Declare[op.NoParams]("trunc")
	Fix        = op.Declare[op.NoParams]("fix")
	LogicalNot = op.Declare[op.NoParams]("logical_not")
)

// ReluGrad is the gradient of Relu: from the gradient of the output and the output to the
// gradient of the input. NaN stays NaN.
var ReluGrad = op.Declare[op.NoParams]("_backward_relu")

// unary is a row of the table: a function and its gradient, which gets the input x, the output y
// and the gradient dy of the output. A nil grad means that the function is constant almost
// everywhere.
type unary struct {
	op   op.Handle[op.NoParams]
	doc  string
	f    loop.Func1
	grad func(x, y, dy op.Entry) op.Entry
}

func init() {
	for _, table := range [][]unary{algebra(), exponentials(), special(), rounding(),
		trigonometry()} {
		for _, u := range table {
			u.define()
		}
	}
	ReluGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}, {1, 0}}, Pointwise: true},
		Inputs: func(op.NoParams) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "output"}}
		},
		Infer: op.SameShape[op.NoParams],
		Grad: Adjoint(func(g *op.Grad, _ op.NoParams, h op.Entry) op.Entry {
			return ReluGrad.Apply(none, h, g.In(1))
		}),
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Zip(reluBack, c.Out[0], c.In[0], c.In[1])
			return nil
		},
		Storage: func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) {
			return in[:1], in[0] == in[1]
		},
		Sparse: func(_ op.NoParams, c *op.Call) error { return loop.ZipStored(reluBack, true, c) },
	})
	digamma.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true},
		Infer:  op.SameShape[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{mul(g.Head(0), trigamma.Apply(none, g.In(0)))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Map(loop.Func1{F: Psi}, c.Out[0], c.In[0])
			return nil
		},
	})
}

func (u unary) define() {
	s := op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:       u.doc,
			Aliases:   unaryAliases(u.op.Name),
			Inplace:   [][2]int{{0, 0}},
			Pointwise: true,
		},
		Infer: op.SameShape[op.NoParams],
		Grad:  ZeroGrad[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Map(u.f, c.Out[0], c.In[0])
			return nil
		},
	}
	switch u.op {
	case Abs, Sign, Relu, Round, Rint, Ceil, Floor, Trunc, Fix:
		s.Idempotent = true
	case Reciprocal, Square, Rsqrt, Rcbrt, Exp, Expm1, Log, Log10, Log2, Log1p, Erfinv, Gamma,
		Gammaln,
		Tan, Arccos, Arcsin, Sinh, Cosh, Arctanh:
		s.Precision = op.Wide
	}
	if u.grad != nil {
		s.Grad = func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{u.grad(g.In(0), g.Out(0), g.Head(0))}
		}
	}
	if u.op == Sign {
		s.Grad = signGrad
	}
	u.storeUnary(&s)
	u.op.Define(s)
}

// unaryAliases returns MXNet's other names of a unary function.
func unaryAliases(name string) []string {
	switch name {
	case "erf", "erfinv":
		return []string{"_npx_" + name}
	case "gamma", "gammaln":
		return []string{"_npx_" + name, "_sparse_" + name}
	case "rcbrt", "reciprocal", "softsign", "logical_not":
		return nil
	}
	return []string{"_sparse_" + name}
}

func same(x int64) int64 { return x }

// bit is 1 for true: comparisons stay in the type of their operands.
func bit[T float64 | int64](b bool) T {
	if b {
		return 1
	}
	return 0
}

func sign[T float64 | int64](x T) T { return bit[T](x > 0) - bit[T](x < 0) }

func algebra() []unary {
	return []unary{
		{Abs, "Abs computes |x|.", loop.Func1{F: math.Abs,
			I: func(x int64) int64 { return max(x, -x) }},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, Sign.Apply(none, x)) }},
		{Sign, "Sign computes -1, 0 or 1 by the sign of x; 0 for NaN.", loop.Func1{F: sign[float64],
			I: sign[int64]}, nil},
		{Negative, "Negative computes -x.", loop.Func1{F: func(x float64) float64 { return -x },
			I: func(x int64) int64 { return -x }},
			func(_, _, dy op.Entry) op.Entry { return neg(dy) }},
		{Reciprocal, "Reciprocal computes 1/x.",
			loop.Func1{F: func(x float64) float64 { return 1 / x }},
			func(_, y, dy op.Entry) op.Entry { return neg(mul(dy, Square.Apply(none, y))) }},
		{Square, "Square computes x².", loop.Func1{F: func(x float64) float64 { return x * x },
			I: func(x int64) int64 { return x * x }},
			func(x, _, dy op.Entry) op.Entry { return mul(scale(dy, 2), x) }},
		{Sqrt, "Sqrt computes the square root.", loop.Func1{F: math.Sqrt},
			func(_, y, dy op.Entry) op.Entry { return div(scale(dy, 0.5), y) }},
		{Rsqrt, "Rsqrt computes 1/√x.", loop.Func1{F: func(x float64) float64 {
			return 1 / math.Sqrt(x)
		}},
			func(x, y, dy op.Entry) op.Entry { return div(mul(scale(dy, -0.5), y), x) }},
		{Cbrt, "Cbrt computes the cube root.", loop.Func1{F: math.Cbrt},
			func(_, y, dy op.Entry) op.Entry {
				return div(scale(dy, 1.0/3), Square.Apply(none, y))
			}},
		{Rcbrt, "Rcbrt computes the reciprocal of the cube root.",
			loop.Func1{F: func(x float64) float64 { return 1 / math.Cbrt(x) }},
			func(x, y, dy op.Entry) op.Entry { return div(mul(scale(dy, -1.0/3), y), x) }},
		{LogicalNot, "LogicalNot computes 1 where x is zero, 0 elsewhere.",
			loop.Func1{F: func(x float64) float64 { return bit[float64](x == 0) },
				I: func(x int64) int64 { return bit[int64](x == 0) }}, nil},
	}
}

func exponentials() []unary {
	over := func(k float64) func(x, _, dy op.Entry) op.Entry {
		return func(x, _, dy op.Entry) op.Entry { return div(scale(dy, 1/k), x) }
	}
	return []unary{
		{Exp, "Exp computes eˣ.", loop.Func1{F: math.Exp},
			func(_, y, dy op.Entry) op.Entry { return mul(dy, y) }},
		{Expm1, "Expm1 computes eˣ-1, precisely near zero.", loop.Func1{F: math.Expm1},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, Exp.Apply(none, x)) }},
		{Log, "Log computes the natural logarithm.", loop.Func1{F: math.Log},
			func(x, _, dy op.Entry) op.Entry { return div(dy, x) }},
		{Log10, "Log10 computes the decimal logarithm.", loop.Func1{F: math.Log10},
			over(math.Ln10)},
		{Log2, "Log2 computes the binary logarithm.", loop.Func1{F: math.Log2}, over(math.Ln2)},
		{Log1p, "Log1p computes log(1+x), precisely near zero.", loop.Func1{F: math.Log1p},
			func(x, _, dy op.Entry) op.Entry { return div(dy, plus(x, 1)) }},
	}
}

func special() []unary {
	return []unary{
		{Relu, "Relu computes max(x, 0) and keeps NaN.",
			loop.Func1{F: relu, I: func(x int64) int64 { return max(x, 0) }},
			func(_, y, dy op.Entry) op.Entry { return ReluGrad.Apply(none, dy, y) }},
		{Sigmoid, "Sigmoid computes 1/(1+e⁻ˣ).",
			loop.Func1{F: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
			func(_, y, dy op.Entry) op.Entry { return mul(mul(dy, y), from(1, y)) }},
		{Softsign, "Softsign computes x/(1+|x|).",
			loop.Func1{F: func(x float64) float64 { return x / (1 + math.Abs(x)) }},
			func(x, _, dy op.Entry) op.Entry {
				return div(dy, Square.Apply(none, plus(Abs.Apply(none, x), 1)))
			}},
		{Tanh, "Tanh computes the hyperbolic tangent.", loop.Func1{F: math.Tanh},
			func(_, y, dy op.Entry) op.Entry { return mul(dy, from(1, Square.Apply(none, y))) }},
		{Erf, "Erf computes the error function 2/√π ∫₀ˣ exp(-t²) dt.", loop.Func1{F: math.Erf},
			func(x, _, dy op.Entry) op.Entry {
				return mul(scale(dy, 2/math.Sqrt(math.Pi)),
					Exp.Apply(none, neg(Square.Apply(none, x))))
			}},
		{Erfinv, "Erfinv computes the inverse of the error function.", loop.Func1{F: math.Erfinv},
			func(_, y, dy op.Entry) op.Entry {
				return mul(scale(dy, math.Sqrt(math.Pi)/2), Exp.Apply(none, Square.Apply(none, y)))
			}},
		{Gamma, "Gamma computes the gamma function.", loop.Func1{F: math.Gamma},
			func(x, y, dy op.Entry) op.Entry { return mul(mul(dy, y), digamma.Apply(none, x)) }},
		{Gammaln, "Gammaln computes the logarithm of the absolute value of the gamma function.",
			loop.Func1{F: lgamma},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, digamma.Apply(none, x)) }},
	}
}

func rounding() []unary {
	row := func(h op.Handle[op.NoParams], doc string, f func(float64) float64) unary {
		return unary{h, doc, loop.Func1{F: f, I: same}, nil}
	}
	return []unary{
		row(Round, "Round rounds to the nearest integer, halves away from zero.", math.Round),
		row(Rint, "Rint rounds to the nearest integer, halves down.", rint),
		row(Ceil, "Ceil rounds up.", math.Ceil),
		row(Floor, "Floor rounds down.", math.Floor),
		row(Trunc, "Trunc rounds toward zero.", math.Trunc),
		row(Fix, "Fix rounds to the nearest integer toward zero.", math.Trunc),
	}
}

func relu(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

// reluBack computes the gradient of relu from the gradient and the value of its output.
var reluBack = loop.Func2{F: func(dy, y float64) float64 { return dy * reluSlope(y) },
	I: func(dy, y int64) int64 { return dy * bit[int64](y > 0) }}

// reluSlope is the derivative of relu in terms of its value.
func reluSlope(y float64) float64 {
	if math.IsNaN(y) {
		return y
	}
	return bit[float64](y > 0)
}

func rint(x float64) float64 {
	if lo, hi := math.Floor(x), math.Ceil(x); x-lo > hi-x {
		return hi
	}
	return math.Floor(x)
}

func lgamma(x float64) float64 {
	y, _ := math.Lgamma(math.Max(x, -math.MaxFloat64)) // math.Lgamma(-Inf) is -Inf
	return y
}

// Psi is the digamma function, the derivative of the logarithm of the gamma function: by reflection
// for negative x, by recurrence up to 10, and from there by its asymptotic series (Abramowitz and
// Stegun, 6.3.18). At its poles it is the largest number, as in MXNet.
func Psi(x float64) float64 {
	if x <= 0 {
		if x == math.Floor(x) {
			return math.MaxFloat64
		}
		return Psi(1-x) - math.Pi/math.Tan(math.Pi*x)
	}
	y := 0.0
	for ; x < 10; x++ {
		y -= 1 / x
	}
	z := 1 / (x * x)
	series := z * (1.0/12 - z*(1.0/120-z*(1.0/252-z*(1.0/240-z*(1.0/132)))))
	return y + math.Log(x) - 0.5/x - series
}
