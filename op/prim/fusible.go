package prim

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
)

// FusibleTypes reports whether operators on these element types may be steps of one chain on a kind
// of device, with casts between them.
func FusibleTypes(kind device.Kind, t, u dtype.Type) bool {
	return t == u || kind == device.KindCUDA && isMixed(t) && isMixed(u)
}

// Fusible reports whether an operator with some number of inputs of an element type may become a
// step of a chain on a kind of device: it treats elements one by one, and where chains are one
// kernel it describes its function of an element.
func Fusible(kind device.Kind, t dtype.Type, o *op.Op, params any, inputs int) bool {
	if !o.Pointwise && !IsCast(o) || o == FusedPointwise.Op || inputs == 0 || len(o.Mutates) > 0 ||
		len(o.Outputs(params)) != 1 || len(o.AppendRun(nil, params)) > 0 {
		return false
	}
	switch {
	case kind == device.KindCUDA && IsCast(o):
		return isMixed(t)
	case kind == device.KindCUDA:
		return t.IsFloat() && (o == AddN.Op || elemOn(kind, t, o, params, inputs) != nil)
	case kind != device.KindCPU || t != dtype.Float32 && t != dtype.BFloat16 || IsCast(o):
		return false
	}
	return !cpu.HasC || device.MaxTier() < device.TierC || elemOn(kind, t, o, params, inputs) != nil
}

// elemOn returns the description of the function that the kernel of an operator applies to an
// element on a kind of device, in the device's terms.
func elemOn(kind device.Kind, t dtype.Type, o *op.Op, params any, inputs int) any {
	k, err := o.Prepare(device.Device{Kind: kind}, device.TierC, params, stepArgs(t, chainBlock,
		inputs, false))
	if err != nil {
		return nil
	}
	return k.Elem
}
