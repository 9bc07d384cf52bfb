//go:build cgo

package random

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func uniformC(low, high float64, a *op.Args) (*op.Prepared, error) {
	if !attach.AllOf(dtype.Float32, a.Out) {
		return nil, op.ErrUnsupported
	}
	n := a.Out[0].Shape.Size()
	k := cpu.Uniform{N: n, Low: low, High: high, Threads: attach.Threads(a,
		device.Work{Elems: float64(n)})}
	return attach.Kernel(k.Threads, 0, func(c *op.Call) {
		k.Run(c.Out[0].Data, cpu.Philox{Key: c.Seed.Key, Counter: c.Seed.Counter})
	}), nil
}
