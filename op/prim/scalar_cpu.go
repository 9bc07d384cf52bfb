//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, m := range map[op.Handle[ScalarParams]]cpu.MapOp{
		PlusScalar: cpu.AddS, RMinusScalar: cpu.RSubS, MulScalar: cpu.MulS, DivScalar: cpu.DivS,
		RDivScalar: cpu.RDivS,
		ModScalar:  cpu.ModS, RModScalar: cpu.RModS, PowerScalar: cpu.PowS, RPowerScalar: cpu.RPowS,
		HypotScalar:   cpu.HypotS,
		MaximumScalar: cpu.MaxS, MinimumScalar: cpu.MinS, EqualScalar: cpu.EqS,
		NotEqualScalar: cpu.NeS, GreaterScalar: cpu.GtS,
		GreaterEqualScalar: cpu.GeS, LesserScalar: cpu.LtS, LesserEqualScalar: cpu.LeS,
	} {
		attach.Adapted(h, func(p ScalarParams, a *op.Args) (*op.Prepared, error) {
			return attach.Map(a, scalarMap(m, p.Scalar))
		}, roundScalar)
	}
	attach.Adapted(MinusScalar, func(p ScalarParams, a *op.Args) (*op.Prepared, error) {
		return attach.Map(a, cpu.Map{Op: cpu.AddS, S: -float32(p.Scalar)})
	}, roundScalar)
}
