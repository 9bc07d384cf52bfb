package prim

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
)

// Fusible reports whether an operator with some number of float32 inputs may become a step of a chain: it treats
// elements one by one, and where chains have a kernel in C it has one, too.
func Fusible(o *op.Op, params any, inputs int) bool {
	if !o.Pointwise || o == FusedPointwise.Op || inputs == 0 || len(o.Mutates) > 0 || len(o.Outputs(params)) != 1 || len(o.AppendRun(nil, params)) > 0 {
		return false
	}
	return !cpu.HasC || device.MaxTier() < device.TierC || elemOf(o, params, inputs) != nil
}

// elemOf returns what the kernel of an operator does to every element of a block, nil when it does not say.
func elemOf(o *op.Op, params any, inputs int) any {
	k, err := o.Prepare(device.CPU(), device.TierC, params, stepArgs(dtype.Float32, chainBlock, inputs, false))
	if err != nil {
		return nil
	}
	return k.Elem
}
