package attach

import (
	"gomx/device"
	"gomx/op"
)

// TierGo attaches a kernel of tier go.
func TierGo[P any](h op.Handle[P], prepare op.Prepare[P]) {
	h.Kernel(device.KindCPU, device.TierGo, prepare)
}

// Floats views an operand as float32, nil when it has no memory.
func Floats(t op.Tensor) []float32 { return op.Slice[float32](t) }

// Scratch views the scratch memory of a call as n elements of float32.
func Scratch(c *op.Call, n int) []float32 {
	return op.Slice[float32](op.Tensor{Desc: op.Desc{Shape: []int{n}}, Data: c.Scratch})
}
