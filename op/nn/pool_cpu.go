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

var poolTypes = map[string]cpu.PoolType{"max": cpu.PoolMax, "avg": cpu.PoolAvg, "sum": cpu.PoolSum,
	"lp": cpu.PoolLp}

func init() {
	attach.Adapted(Pooling, func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		if a.In[0].Layout != nil {
			return poolBlockedC(p, a)
		}
		k, threads, err := poolC(p, a, a.In[0].Shape, a.Out[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) { k.Run(c.Out[0].Data, c.In[0].Data) }),
			nil
	}, func(p PoolingParams, _ *op.Args) (PoolingParams, bool) { return p, !p.leavesInput() })
	back := func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		if k, err := poolBlockedGradC(p, a); err == nil {
			return k, nil
		}
		k, threads, err := poolC(p, a, a.Out[0].Shape, a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) {
			var x, y unsafe.Pointer
			if len(c.In) > 2 {
				x, y = c.In[1].Data, c.In[2].Data
			}
			k.RunGrad(c.Out[0].Data, c.In[0].Data, x, y)
		}), nil
	}
	attach.TierC(PoolingGrad, back)
	attach.TierC(PoolingSumGrad, back)
}

// leavesInput reports whether a window may lie in the padding altogether: its maximum is the lowest
// number of the type.
func (p PoolingParams) leavesInput() bool {
	for i, k := range p.Kernel {
		step := 1
		if p.PoolingConvention != "valid" {
			step = at(p.Stride, i, 1)
		}
		if p.PoolType == "max" && at(p.Pad, i, 0)+step > k {
			return true
		}
	}
	return false
}

// poolC prepares pooling of data to output, channels first. The maximum and the average of nothing
// are the reference's.
func poolC(p PoolingParams, a *op.Args, data, output dtype.Shape) (*cpu.Pool, int, error) {
	ignored := len(a.In) == 2 // the data, by the gradient of averages and sums
	if data.Size() == 0 || !attach.AllOf(dtype.Float32, a.In[:len(a.In)-boolInt(ignored)]) ||
		!attach.AllOf(dtype.Float32, a.Out) {
		return nil, 0, op.ErrUnsupported
	}
	s, err := poolSpec(p, a, data, output)
	if err != nil {
		return nil, 0, err
	}
	return cpu.NewPool(s), s.Threads, nil
}

func poolSpec(p PoolingParams, a *op.Args, data, output dtype.Shape) (cpu.PoolSpec, error) {
	if channel, _ := poolLayout(p, len(data)); channel != 1 {
		return cpu.PoolSpec{}, op.ErrUnsupported
	}
	if p.GlobalPool {
		p.Kernel, p.Stride, p.Pad = data[2:], nil, nil
	}
	axes := len(data) - 2
	s := cpu.PoolSpec{Type: poolTypes[p.PoolType], Planes: data[0] * data[1], In: data[2:],
		Out: output[2:], Kernel: p.Kernel,
		Stride: make([]int, axes), Pad: make([]int, axes), IncludePad: p.CountIncludePad.Or(true),
		P: p.PValue.Or(1)}
	for i := range axes {
		s.Stride[i], s.Pad[i] = at(p.Stride, i, 1), at(p.Pad, i, 0)
	}
	reads := float64(output.Size()) * float64(dtype.Shape(p.Kernel).Size())
	s.Threads = attach.Threads(a, device.Work{Bytes: attach.Bytes(a) + 4*reads})
	return s, nil
}

// poolBlockedGradC is the gradient of pooling of arrays in blocks of 16 channels. The gradient of
// averages and sums, which reads no data, makes such an array by itself if the data is blocked.
func poolBlockedGradC(p PoolingParams, a *op.Args) (*op.Prepared, error) {
	y, x := a.In[0].Shape, a.Out[0].Shape
	narrow := all(a, dtype.BFloat16)
	if a.In[1].Layout != cpu.LayoutBlock16 || !float32s(a) && !narrow || !a.Chooses(0) || x.Size() == 0 ||
		y.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	s, err := poolSpec(p, a, x, y)
	if err != nil || s.Type == cpu.PoolLp {
		return nil, op.ErrUnsupported
	}
	s.Planes /= 16
	k := cpu.NewPool(s)
	in := blocked(a.In, 0)
	if len(in) > 2 {
		in = blocked(in, 1, 2)
	}
	scratch := 0
	if narrow {
		scratch = k.NarrowScratch()
	}
	return &op.Prepared{Threads: s.Threads, Scratch: scratch, In: in, Out: blocked(a.Out, 0),
		Run: func(c *op.Call) error {
			var x, y unsafe.Pointer
			if len(c.In) > 2 {
				x, y = c.In[1].Data, c.In[2].Data
			}
			if narrow {
				k.RunNarrowGrad(c.Out[0].Data, c.In[0].Data, x, y, c.Scratch)
				return nil
			}
			k.RunBlockedGrad(c.Out[0].Data, c.In[0].Data, x, y)
			return nil
		}}, nil
}

// poolBlockedC pools arrays that are not plain. Windows that reach beyond the padding count as
// smaller in averages here and not in oneDNN.
func poolBlockedC(p PoolingParams, a *op.Args) (*op.Prepared, error) {
	x, y := a.In[0].Shape, a.Out[0].Shape
	l, ok := attach.LayoutOf(a.In[0])
	if !ok || !float32s(a) && !all(a, dtype.BFloat16) || a.Out[0].Layout != nil || x.Size() == 0 ||
		y.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	s, err := poolSpec(p, a, x, y)
	s.DType = a.In[0].DType
	if err != nil || s.Type != cpu.PoolMax && s.Type != cpu.PoolAvg {
		return nil, op.ErrUnsupported
	}
	if s.Type == cpu.PoolAvg && s.IncludePad {
		s.IncludePad = false // the same where there is no padding, and faster
		for i := range s.In {
			reach := (s.Out[i]-1)*s.Stride[i] + s.Kernel[i]
			if reach > s.In[i]+2*s.Pad[i] {
				return nil, op.ErrUnsupported
			}
			s.IncludePad = s.IncludePad || s.Pad[i] > 0
		}
	}
	keep := a.Chooses(0) && y[2:].Size() > 1
	k, err := cpu.NewPoolProgram(s, x[1], l, keep)
	if err != nil {
		return nil, op.ErrUnsupported
	}
	out := a.Out[0]
	if keep {
		out = attach.InLayout(out, l)
	}
	return &op.Prepared{Threads: s.Threads, Scratch: k.Scratch(), Impls: k.Impls(),
		Out: []op.Desc{out}, Run: func(c *op.Call) error {
			return k.Run(c.Out[0].Data, c.In[0].Data, c.Scratch)
		}}, nil
}
