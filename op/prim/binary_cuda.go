//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for pair, name := range map[[2]op.Handle[op.NoParams]]string{
		{ElemwiseAdd, BroadcastAdd}: "add", {ElemwiseSub, BroadcastSub}: "sub",
		{ElemwiseMul, BroadcastMul}: "mul",
		{ElemwiseDiv, BroadcastDiv}: "div", {Mod, BroadcastMod}: "mod",
		{Power, BroadcastPower}: "pow", {Hypot, BroadcastHypot}: "hypot",
		{Maximum, BroadcastMaximum}: "max", {Minimum, BroadcastMinimum}: "min",
		{Equal, BroadcastEqual}:       "eq",
		{NotEqual, BroadcastNotEqual}: "ne", {Greater, BroadcastGreater}: "gt",
		{GreaterEqual, BroadcastGreaterEqual}: "ge",
		{Lesser, BroadcastLesser}:             "lt", {LesserEqual, BroadcastLesserEqual}: "le",
		{LogicalAnd, BroadcastLogicalAnd}: "land",
		{LogicalOr, BroadcastLogicalOr}:   "lor", {LogicalXor, BroadcastLogicalXor}: "lxor",
	} {
		for _, h := range pair {
			attach.CUDA(h, attach.CUDABinary[op.NoParams](name))
		}
	}
}
