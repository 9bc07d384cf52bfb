//go:build cgo

package update

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierC(MultiSumSq, sumSquaresC) }

// sumSquaresC prepares sums of squares, one array after the other, each by all threads.
func sumSquaresC(_ MultiSumSqParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	threads, scratch := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)}), 0
	list := make([]*cpu.Reduce, len(a.In))
	for i, d := range a.In {
		all := make([]bool, len(d.Shape))
		for k := range all {
			all[k] = true
		}
		list[i] = cpu.NewReduce(cpu.SumSquare, d.Shape, all, 1, threads)
		scratch = max(scratch, list[i].Scratch())
	}
	return attach.Kernel(threads, scratch, func(c *op.Call) {
		for i, k := range list {
			k.Run(unsafe.Add(c.Out[0].Data, 4*i), c.In[i].Data, c.Scratch)
		}
	}), nil
}
