package attach

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// Float32 reports whether all operands are dense float32 arrays.
func Float32(a *op.Args) bool { return AllOf(dtype.Float32, a.In) && AllOf(dtype.Float32, a.Out) }

// AllOf reports whether all operands are dense arrays of one element type.
func AllOf(t dtype.Type, list []op.Desc) bool {
	for i := range list {
		if list[i].DType != t || list[i].Layout != nil {
			return false
		}
	}
	return true
}

// Threads chooses the number of threads for work, at most as many as a allows.
func Threads(a *op.Args, w device.Work) int { return device.Threads(a.Threads, w.NS()) }

// Bytes is the number of bytes that all operands have together.
func Bytes(a *op.Args) float64 {
	n := 0
	for _, d := range a.In {
		n += d.Bytes
	}
	for _, d := range a.Out {
		n += d.Bytes
	}
	return float64(n)
}

// Align rounds a number of bytes up to a multiple of 64, so that the memory behind them begins a
// cache line.
func Align(bytes int) int { return (bytes + 63) &^ 63 }

// Kernel makes a prepared kernel of a function that cannot fail.
func Kernel(threads, scratch int, run func(c *op.Call)) *op.Prepared {
	return &op.Prepared{Threads: threads, Scratch: scratch, Run: func(c *op.Call) error {
		run(c)
		return nil
	}}
}
