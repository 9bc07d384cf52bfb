//go:build cgo

package attach

import (
	"gomx/device/cpu"
	"gomx/op"
)

// LayoutOf returns the layout of an operand; ok is false for layouts of weights.
func LayoutOf(d op.Desc) (l cpu.Layout, ok bool) {
	if d.Layout == nil {
		return cpu.LayoutPlain, true
	}
	l, ok = d.Layout.(cpu.Layout)
	return l, ok
}

// InLayout returns d in a layout with the size of the plain one.
func InLayout(d op.Desc, l cpu.Layout) op.Desc {
	if d = op.Plain(d.DType, d.Shape); l != cpu.LayoutPlain {
		d.Layout = l
	}
	return d
}
