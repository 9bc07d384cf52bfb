//go:build cuda

package prim

import (
	"math"

	"gomx/op"
	"gomx/op/attach"
)

func init() {
	mapsCUDA(map[op.Handle[op.NoParams]]string{
		Sin: "sin", Cos: "cos", Tan: "tan", Arcsin: "arcsin", Arccos: "arccos", Arctan: "arctan",
		Sinh: "sinh", Cosh: "cosh", Arcsinh: "arcsinh", Arccosh: "arccosh", Arctanh: "arctanh",
	})
	attach.CUDA(Degrees, attach.CUDAUnary[op.NoParams]("muls", 180/math.Pi))
	attach.CUDA(Radians, attach.CUDAUnary[op.NoParams]("muls", math.Pi/180))
}
