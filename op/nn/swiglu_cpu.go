//go:build cgo

package nn

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	prepare := func(p SwiGLUParams, a *op.Args, half dtype.Shape) (cpu.SwiGLU, error) {
		size := half.Size()
		if !attach.Float32(a) || size == 0 {
			return cpu.SwiGLU{}, op.ErrUnsupported
		}
		k := cpu.SwiGLU{Rows: 1, N: size, Step: size,
			Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a), Elems: float64(size)})}
		if !p.Separate {
			k.N = half[len(half)-1]
			k.Rows, k.Step = size/k.N, 2*k.N
		}
		return k, nil
	}
	attach.TierC(SwiGLU, func(p SwiGLUParams, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a, a.Out[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			x, y := halvesOf(&k, p, c.In)
			k.Run(c.Out[0].Data, x, y)
		}), nil
	})
	attach.TierC(swiGLUGrad, func(p SwiGLUParams, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a, a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			x, y := halvesOf(&k, p, c.In[1:])
			dx, dy := halvesOf(&k, p, c.Out)
			k.RunGrad(dx, dy, c.In[0].Data, x, y)
		}), nil
	})
}

// halvesOf returns the places of a and b among operands.
func halvesOf(k *cpu.SwiGLU, p SwiGLUParams, list []op.Tensor) (a, b unsafe.Pointer) {
	if p.Separate {
		return list[0].Data, list[1].Data
	}
	return list[0].Data, unsafe.Add(list[0].Data, 4*k.N)
}
