//go:build cuda

package prim

import (
	"math"

	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, name := range map[op.Handle[op.NoParams]]string{
		Abs: "abs", Sign: "sign", Negative: "neg", Reciprocal: "reciprocal", Square: "square", Sqrt: "sqrt", Rsqrt: "rsqrt",
		Cbrt: "cbrt", Rcbrt: "rcbrt", Exp: "exp", Expm1: "expm1", Log: "log", Log10: "log10", Log2: "log2", Log1p: "log1p",
		Relu: "relu", Sigmoid: "sigmoid", Softsign: "softsign", Tanh: "tanh", Erf: "erf", Erfinv: "erfinv", Gamma: "gamma",
		Gammaln: "gammaln", digamma: "digamma", trigamma: "trigamma", Round: "round", Rint: "rint", Ceil: "ceil", Floor: "floor",
		Trunc: "trunc", Fix: "trunc", LogicalNot: "lnot", Sin: "sin", Cos: "cos", Tan: "tan", Arcsin: "arcsin", Arccos: "arccos",
		Arctan: "arctan", Sinh: "sinh", Cosh: "cosh", Arcsinh: "arcsinh", Arccosh: "arccosh", Arctanh: "arctanh",
	} {
		attach.CUDA(h, rounded(h, attach.CUDAUnary[op.NoParams](name)))
	}
	attach.CUDA(Degrees, attach.CUDAUnary[op.NoParams]("muls", 180/math.Pi))
	attach.CUDA(Radians, attach.CUDAUnary[op.NoParams]("muls", math.Pi/180))
	for pair, name := range map[[2]op.Handle[op.NoParams]]string{
		{ElemwiseAdd, BroadcastAdd}: "add", {ElemwiseSub, BroadcastSub}: "sub", {ElemwiseMul, BroadcastMul}: "mul",
		{ElemwiseDiv, BroadcastDiv}: "div", {Mod, BroadcastMod}: "mod", {Power, BroadcastPower}: "pow", {Hypot, BroadcastHypot}: "hypot",
		{Maximum, BroadcastMaximum}: "max", {Minimum, BroadcastMinimum}: "min", {Equal, BroadcastEqual}: "eq",
		{NotEqual, BroadcastNotEqual}: "ne", {Greater, BroadcastGreater}: "gt", {GreaterEqual, BroadcastGreaterEqual}: "ge",
		{Lesser, BroadcastLesser}: "lt", {LesserEqual, BroadcastLesserEqual}: "le", {LogicalAnd, BroadcastLogicalAnd}: "land",
		{LogicalOr, BroadcastLogicalOr}: "lor", {LogicalXor, BroadcastLogicalXor}: "lxor",
	} {
		for _, h := range pair {
			attach.CUDA(h, attach.CUDABinary[op.NoParams](name))
		}
	}
	attach.CUDA(ReluGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) { return attach.CUDAZip(a, "relu_grad", 0, 1) })
	attach.CUDA(GradAdd, attach.CUDABinary[op.NoParams]("add"))
	for h, name := range map[op.Handle[ScalarParams]]string{
		PlusScalar: "adds", MinusScalar: "subs", RMinusScalar: "rsubs", MulScalar: "muls", DivScalar: "divs", RDivScalar: "rdivs",
		ModScalar: "mods", RModScalar: "rmods", PowerScalar: "pows", RPowerScalar: "rpows", HypotScalar: "hypots",
		MaximumScalar: "maxs", MinimumScalar: "mins", EqualScalar: "eqs", NotEqualScalar: "nes", GreaterScalar: "gts",
		GreaterEqualScalar: "ges", LesserScalar: "lts", LesserEqualScalar: "les", LogicalAndScalar: "ands", LogicalOrScalar: "ors",
		LogicalXorScalar: "xors",
	} {
		attach.CUDA(h, func(p ScalarParams, a *op.Args) (*op.Prepared, error) {
			return attach.CUDAMap(a, name, round(a.In[0].DType, p.Scalar))
		})
	}
	for h, name := range map[op.Handle[ClipParams]]string{Clip: "clip", clipMask: "clip_mask"} {
		attach.CUDA(h, func(p ClipParams, a *op.Args) (*op.Prepared, error) {
			t := a.In[0].DType
			return attach.CUDAMap(a, name, round(t, p.AMin), round(t, p.AMax))
		})
	}
}

// rounded leaves integers as they are where the function only rounds.
func rounded(h op.Handle[op.NoParams], prepare op.Prepare[op.NoParams]) op.Prepare[op.NoParams] {
	switch h {
	case Round, Rint, Ceil, Floor, Trunc, Fix:
	default:
		return prepare
	}
	return func(p op.NoParams, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a)
		if err == op.ErrUnsupported {
			return attach.CUDAMap(a, "copy")
		}
		return k, err
	}
}
