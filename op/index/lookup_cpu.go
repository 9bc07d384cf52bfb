//go:build cgo

package index

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func argC(p ArgParams, a *op.Args, find func(d, x unsafe.Pointer, axis cpu.Axis3,
	threads int)) (*op.Prepared, error) {
	v, err := vectors(p.Axis, a.In[0].Shape)
	if err != nil {
		return nil, err
	}
	if !attach.Float32(a) || v.n == 0 || v.step == 0 || v.n > 1<<24 {
		return nil, op.ErrUnsupported
	}
	axis, threads := cpu.Axis3{Outer: v.count / v.step, N: v.n, Inner: v.step},
		attach.Threads(a, device.Work{Bytes: 4 * attach.Bytes(a)})
	return attach.Kernel(threads, 0, func(c *op.Call) {
		find(c.Out[0].Data, c.In[0].Data, axis, threads)
	}), nil
}
