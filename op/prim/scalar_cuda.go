//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, name := range map[op.Handle[ScalarParams]]string{
		PlusScalar: "adds", MinusScalar: "subs", RMinusScalar: "rsubs", MulScalar: "muls",
		DivScalar: "divs", RDivScalar: "rdivs",
		ModScalar: "mods", RModScalar: "rmods", PowerScalar: "pows", RPowerScalar: "rpows",
		HypotScalar:   "hypots",
		MaximumScalar: "maxs", MinimumScalar: "mins", EqualScalar: "eqs", NotEqualScalar: "nes",
		GreaterScalar:      "gts",
		GreaterEqualScalar: "ges", LesserScalar: "lts", LesserEqualScalar: "les",
		LogicalAndScalar: "ands", LogicalOrScalar: "ors",
		LogicalXorScalar: "xors",
	} {
		attach.CUDA(h, func(p ScalarParams, a *op.Args) (*op.Prepared, error) {
			return attach.CUDAMap(a, name, round(a.In[0].DType, p.Scalar))
		})
	}
}
