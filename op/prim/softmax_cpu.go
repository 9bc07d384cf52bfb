//go:build cgo

package prim

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, f := range []struct {
		op, back op.Handle[SoftmaxParams]
		kind     softmaxKind
	}{
		{Softmax, softmaxGrad, softmaxKind{sign: 1}},
		{Softmin, softminGrad, softmaxKind{sign: -1}},
		{LogSoftmax, logSoftmaxGrad, softmaxKind{sign: 1, log: true}},
	} {
		attach.TierC(f.op, func(p SoftmaxParams, a *op.Args) (*op.Prepared, error) {
			s, err := f.kind.prepare(p, a)
			if err != nil {
				return nil, err
			}
			return attach.Kernel(s.Threads, 0,
				func(c *op.Call) { s.Run(c.Out[0].Data, c.In[0].Data) }), nil
		})
		attach.TierC(f.back, func(p SoftmaxParams, a *op.Args) (*op.Prepared, error) {
			s, err := f.kind.prepare(p, a)
			if err != nil {
				return nil, err
			}
			return attach.Kernel(s.Threads, 0,
				func(c *op.Call) { s.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data) }), nil
		})
	}
}

// prepare serves float32 without lengths.
func (k softmaxKind) prepare(p SoftmaxParams, a *op.Args) (cpu.Softmax, error) {
	shape := a.Out[0].Shape
	narrow := attach.BFloat16(a)
	if !attach.Float32(a) && !narrow || p.UseLength || len(shape) == 0 {
		return cpu.Softmax{}, op.ErrUnsupported
	}
	axis, err := Axis("axis", p.Axis.Value(), len(shape))
	if err != nil {
		return cpu.Softmax{}, err
	}
	work := device.Work{Bytes: attach.Bytes(a), Elems: float64(shape.Size())}
	s := cpu.Softmax{Axis: cpu.SplitAt(shape, axis),
		Temperature: float32(k.sign * p.Temperature.Or(1)), Log: k.log, Narrow: narrow,
		Threads: attach.Threads(a, work)}
	if narrow && !s.CanNarrow() {
		return s, op.ErrUnsupported
	}
	return s, nil
}
