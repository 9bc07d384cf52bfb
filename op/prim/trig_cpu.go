//go:build cgo

package prim

import (
	"math"

	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	mapsC(map[op.Handle[op.NoParams]]cpu.MapOp{
		Sin: cpu.Sin, Cos: cpu.Cos, Tan: cpu.Tan, Arcsin: cpu.Asin, Arccos: cpu.Acos,
		Arctan: cpu.Atan, Sinh: cpu.Sinh, Cosh: cpu.Cosh, Arcsinh: cpu.Asinh, Arccosh: cpu.Acosh,
		Arctanh: cpu.Atanh,
	})
	attach.TierC(Degrees, attach.Unary[op.NoParams](cpu.Map{Op: cpu.MulS, S: 180 / math.Pi}))
	attach.TierC(Radians, attach.Unary[op.NoParams](cpu.Map{Op: cpu.MulS, S: math.Pi / 180}))
}
