//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for pair, z := range map[[2]op.Handle[op.NoParams]]cpu.ZipOp{
		{ElemwiseAdd, BroadcastAdd}: cpu.Add, {ElemwiseSub, BroadcastSub}: cpu.Sub,
		{ElemwiseMul, BroadcastMul}: cpu.Mul,
		{ElemwiseDiv, BroadcastDiv}: cpu.Div, {Mod, BroadcastMod}: cpu.Mod,
		{Power, BroadcastPower}: cpu.Pow, {Hypot, BroadcastHypot}: cpu.Hypot,
		{Maximum, BroadcastMaximum}: cpu.Max, {Minimum, BroadcastMinimum}: cpu.Min,
		{Equal, BroadcastEqual}:       cpu.Eq,
		{NotEqual, BroadcastNotEqual}: cpu.Ne, {Greater, BroadcastGreater}: cpu.Gt,
		{GreaterEqual, BroadcastGreaterEqual}: cpu.Ge,
		{Lesser, BroadcastLesser}:             cpu.Lt, {LesserEqual, BroadcastLesserEqual}: cpu.Le,
		{LogicalAnd, BroadcastLogicalAnd}: cpu.And,
		{LogicalOr, BroadcastLogicalOr}:   cpu.Or, {LogicalXor, BroadcastLogicalXor}: cpu.Xor,
	} {
		for _, h := range pair {
			attach.TierC(h, attach.Binary[op.NoParams](z))
		}
	}
}
