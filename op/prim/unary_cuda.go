//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	mapsCUDA(map[op.Handle[op.NoParams]]string{
		Abs: "abs", Sign: "sign", Negative: "neg", Reciprocal: "reciprocal", Square: "square",
		Sqrt: "sqrt", Rsqrt: "rsqrt", Cbrt: "cbrt", Rcbrt: "rcbrt", Exp: "exp", Expm1: "expm1",
		Log: "log", Log10: "log10", Log2: "log2", Log1p: "log1p", Relu: "relu",
		Sigmoid: "sigmoid", Softsign: "softsign", Tanh: "tanh", Erf: "erf", Erfinv: "erfinv",
		Gamma: "gamma", Gammaln: "gammaln", digamma: "digamma", Round: "round", Rint: "rint",
		Ceil: "ceil", Floor: "floor", Trunc: "trunc", Fix: "trunc", LogicalNot: "lnot",
	})
	attach.CUDA(ReluGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAZip(a, "relu_grad", 0, 1)
	})
}
