//go:build cgo

package prim

import (
	"math"

	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, m := range map[op.Handle[op.NoParams]]cpu.MapOp{
		Abs: cpu.Abs, Sign: cpu.Sign, Negative: cpu.Neg, Reciprocal: cpu.Reciprocal, Square: cpu.Square, Sqrt: cpu.Sqrt, Rsqrt: cpu.Rsqrt,
		Cbrt: cpu.Cbrt, Rcbrt: cpu.Rcbrt, Exp: cpu.Exp, Expm1: cpu.Expm1, Log: cpu.Log, Log10: cpu.Log10, Log2: cpu.Log2, Log1p: cpu.Log1p,
		Relu: cpu.ReLU, Sigmoid: cpu.Sigmoid, Softsign: cpu.Softsign, Tanh: cpu.Tanh, Erf: cpu.Erf, Round: cpu.Round, Rint: cpu.Rint,
		Ceil: cpu.Ceil, Floor: cpu.Floor, Trunc: cpu.Trunc, Fix: cpu.Trunc, LogicalNot: cpu.Not,
		Sin: cpu.Sin, Cos: cpu.Cos, Tan: cpu.Tan, Arcsin: cpu.Asin, Arccos: cpu.Acos, Arctan: cpu.Atan, Sinh: cpu.Sinh, Cosh: cpu.Cosh,
		Arcsinh: cpu.Asinh, Arccosh: cpu.Acosh, Arctanh: cpu.Atanh, Identity: cpu.Copy,
	} {
		attach.TierC(h, attach.Unary[op.NoParams](cpu.Map{Op: m}))
	}
	attach.TierC(Degrees, attach.Unary[op.NoParams](cpu.Map{Op: cpu.MulS, S: 180 / math.Pi}))
	attach.TierC(Radians, attach.Unary[op.NoParams](cpu.Map{Op: cpu.MulS, S: math.Pi / 180}))
	attach.TierC(ReluGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) { return attach.Zip(a, cpu.Zip{Op: cpu.ReLUGrad}) })
	attachBinary()
	attachScalar()
	attach.TierC(Clip, func(p ClipParams, a *op.Args) (*op.Prepared, error) {
		return attach.Map(a, cpu.Map{Op: cpu.Clip, S: float32(p.AMin), T: float32(p.AMax)})
	})
	attach.TierC(AddN, func(_ AddNParams, a *op.Args) (*op.Prepared, error) { return addUp(a) })
	attach.TierC(GradAdd, attach.Binary[op.NoParams](cpu.Add))
	attach.TierC(Where, chooseC)
	attach.TierC(ZerosLike, fillWith[op.NoParams](func(op.NoParams) float64 { return 0 }))
	attach.TierC(OnesLike, fillWith[op.NoParams](func(op.NoParams) float64 { return 1 }))
	attach.TierC(Zeros, fillWith(func(InitParams) float64 { return 0 }))
	attach.TierC(Ones, fillWith(func(InitParams) float64 { return 1 }))
	attach.TierC(Full, fillWith(func(p FullParams) float64 { return p.Value }))
}

func attachBinary() {
	for pair, z := range map[[2]op.Handle[op.NoParams]]cpu.ZipOp{
		{ElemwiseAdd, BroadcastAdd}: cpu.Add, {ElemwiseSub, BroadcastSub}: cpu.Sub, {ElemwiseMul, BroadcastMul}: cpu.Mul,
		{ElemwiseDiv, BroadcastDiv}: cpu.Div, {Mod, BroadcastMod}: cpu.Mod, {Power, BroadcastPower}: cpu.Pow, {Hypot, BroadcastHypot}: cpu.Hypot,
		{Maximum, BroadcastMaximum}: cpu.Max, {Minimum, BroadcastMinimum}: cpu.Min, {Equal, BroadcastEqual}: cpu.Eq,
		{NotEqual, BroadcastNotEqual}: cpu.Ne, {Greater, BroadcastGreater}: cpu.Gt, {GreaterEqual, BroadcastGreaterEqual}: cpu.Ge,
		{Lesser, BroadcastLesser}: cpu.Lt, {LesserEqual, BroadcastLesserEqual}: cpu.Le, {LogicalAnd, BroadcastLogicalAnd}: cpu.And,
		{LogicalOr, BroadcastLogicalOr}: cpu.Or, {LogicalXor, BroadcastLogicalXor}: cpu.Xor,
	} {
		for _, h := range pair {
			attach.TierC(h, attach.Binary[op.NoParams](z))
		}
	}
}

func attachScalar() {
	for h, m := range map[op.Handle[ScalarParams]]cpu.MapOp{
		PlusScalar: cpu.AddS, RMinusScalar: cpu.RSubS, MulScalar: cpu.MulS, DivScalar: cpu.DivS, RDivScalar: cpu.RDivS,
		ModScalar: cpu.ModS, RModScalar: cpu.RModS, PowerScalar: cpu.PowS, RPowerScalar: cpu.RPowS, HypotScalar: cpu.HypotS,
		MaximumScalar: cpu.MaxS, MinimumScalar: cpu.MinS, EqualScalar: cpu.EqS, NotEqualScalar: cpu.NeS, GreaterScalar: cpu.GtS,
		GreaterEqualScalar: cpu.GeS, LesserScalar: cpu.LtS, LesserEqualScalar: cpu.LeS,
	} {
		attach.Adapted(h, func(p ScalarParams, a *op.Args) (*op.Prepared, error) { return attach.Map(a, scalarMap(m, p.Scalar)) }, roundScalar)
	}
	attach.Adapted(MinusScalar, func(p ScalarParams, a *op.Args) (*op.Prepared, error) {
		return attach.Map(a, cpu.Map{Op: cpu.AddS, S: -float32(p.Scalar)})
	}, roundScalar)
}

// roundScalar rounds the number as it is for arrays of narrower types.
func roundScalar(p ScalarParams, a *op.Args) (ScalarParams, bool) {
	p.Scalar = round(a.In[0].DType, p.Scalar)
	return p, true
}

// scalarMap replaces powers that have a faster form.
func scalarMap(m cpu.MapOp, s float64) cpu.Map {
	if m == cpu.PowS {
		switch s {
		case 2:
			return cpu.Map{Op: cpu.Square}
		case 1:
			return cpu.Map{Op: cpu.Copy}
		case -1:
			return cpu.Map{Op: cpu.Reciprocal}
		}
	}
	return cpu.Map{Op: m, S: float32(s)}
}

// addUp sums all inputs, in their order.
func addUp(a *op.Args) (*op.Prepared, error) {
	if len(a.In) == 1 {
		return attach.Map(a, cpu.Map{Op: cpu.Copy})
	}
	k, err := attach.Zip(a, cpu.Zip{Op: cpu.Add})
	if err != nil || len(a.In) == 2 {
		return k, err
	}
	n, z := a.Out[0].Shape.Size(), cpu.Zip{Op: cpu.Add, Threads: k.Threads}
	k = attach.Kernel(z.Threads, 0, func(c *op.Call) {
		sum := c.Out[0].Data
		z.Run(sum, c.In[0].Data, c.In[1].Data, n)
		for _, in := range c.In[2:] {
			z.Run(sum, sum, in.Data, n)
		}
	})
	k.Elem = cpu.AddUp{}
	return k, nil
}

func chooseC(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
	n := a.Out[0].Shape.Size()
	if !attach.Float32(a) || a.In[0].Shape.Size() != n {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(1, 0, func(c *op.Call) { cpu.Select(c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.In[2].Data, n) }), nil
}

// fillWith prepares operators whose output has one value throughout.
func fillWith[P any](value func(P) float64) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		out := a.Out[:1]
		if !attach.Float32(&op.Args{Out: out}) {
			return nil, op.ErrUnsupported
		}
		n, v := out[0].Shape.Size(), float32(value(p))
		return attach.Kernel(1, 0, func(c *op.Call) { cpu.Fill(c.Out[0].Data, n, v, 1) }), nil
	}
}
