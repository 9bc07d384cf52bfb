//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	mapsC(map[op.Handle[op.NoParams]]cpu.MapOp{
		Abs: cpu.Abs, Sign: cpu.Sign, Negative: cpu.Neg, Reciprocal: cpu.Reciprocal,
		Square: cpu.Square, Sqrt: cpu.Sqrt, Rsqrt: cpu.Rsqrt, Cbrt: cpu.Cbrt, Rcbrt: cpu.Rcbrt,
		Exp: cpu.Exp, Expm1: cpu.Expm1, Log: cpu.Log, Log10: cpu.Log10, Log2: cpu.Log2,
		Log1p: cpu.Log1p, Relu: cpu.ReLU, Sigmoid: cpu.Sigmoid, Softsign: cpu.Softsign,
		Tanh: cpu.Tanh, Erf: cpu.Erf, Round: cpu.Round, Rint: cpu.Rint, Ceil: cpu.Ceil,
		Floor: cpu.Floor, Trunc: cpu.Trunc, Fix: cpu.Trunc, LogicalNot: cpu.Not,
	})
	attach.TierC(ReluGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return attach.Zip(a, cpu.Zip{Op: cpu.ReLUGrad})
	})
}
