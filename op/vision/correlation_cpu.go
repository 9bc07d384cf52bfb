//go:build cgo

package vision

import (
	"unsafe"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Correlation, func(p CorrelationParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) || a.In[0].Shape[1] == 0 {
			return nil, op.ErrUnsupported
		}
		m := newComparer(p, a.In[0].Shape, a.Out[0].Shape)
		n := a.In[0].Shape[:2].Size() * m.ph * m.pw
		k := m.kernel(a, a.Out[0].Shape[0], a.Out[0].Shape.Size(), 2)
		return attach.Kernel(k.Threads, 4*2*n, func(c *op.Call) {
			s := unsafe.Slice((*float32)(c.Scratch), 2*n)
			padOver(m, s[:n], op.Slice[float32](c.In[0]))
			padOver(m, s[n:], op.Slice[float32](c.In[1]))
			k.Run(op.Slice[float32](c.Out[0]), s[:n], s[n:])
		}), nil
	})
	attach.TierC(correlationGrad, func(p CorrelationParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) || a.In[1].Shape[1] == 0 {
			return nil, op.ErrUnsupported
		}
		m := newComparer(p, a.In[1].Shape, a.In[0].Shape)
		n := a.In[1].Shape[:2].Size() * m.ph * m.pw
		k := m.kernel(a, a.In[0].Shape[0], a.In[0].Shape.Size(), 4)
		return attach.Kernel(k.Threads, 4*4*n, func(c *op.Call) {
			s := unsafe.Slice((*float32)(c.Scratch), 4*n)
			padOver(m, s[:n], op.Slice[float32](c.In[1]))
			padOver(m, s[n:2*n], op.Slice[float32](c.In[2]))
			clear(s[2*n:])
			k.RunGrad(s[2*n:3*n], s[3*n:], op.Slice[float32](c.In[0]), s[:n], s[n:2*n])
			for i, grad := range [][]float32{s[2*n : 3*n], s[3*n:]} {
				if c.Out[i].Data != nil {
					cut(m, op.Slice[float32](c.Out[i]), grad)
				}
			}
		}), nil
	})
}

// kernel returns the kernel for outputs elements, each with flops operations per pair of elements.
func (m *comparer) kernel(a *op.Args, batch, outputs, flops int) *cpu.Correlation {
	work := float64(flops) * float64(outputs) * float64(m.elements())
	return &cpu.Correlation{Batch: batch, Channels: m.channels, H: m.ph, W: m.pw, OutH: m.oh,
		OutW: m.ow, Side: m.side, Step: m.Stride2, Size: m.KernelSize,
		Border: m.MaxDisplacement.Value(), Stride: m.Stride1, Difference: m.Difference,
		Threads: attach.Threads(a, device.Work{Flops: work, Bytes: attach.Bytes(a)})}
}
