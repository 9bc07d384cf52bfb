//go:build cgo

package loss

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(SoftmaxOutput, func(p SoftmaxOutputParams, a *op.Args) (*op.Prepared, error) {
		if !attach.AllOf(dtype.Float32, a.In[:1]) || !attach.AllOf(dtype.Float32, a.Out) {
			return nil, op.ErrUnsupported
		}
		v, n := newClasses(p, a.In[0].Shape), a.Out[0].Shape.Size()
		s := cpu.Softmax{Axis: cpu.Axis3{Outer: v.samples, N: v.count, Inner: v.inner},
			Temperature: 1,
			Threads:     attach.Threads(a, device.Work{Bytes: attach.Bytes(a), Elems: float64(n)})}
		return attach.Kernel(s.Threads, 0, func(c *op.Call) { s.Run(c.Out[0].Data, c.In[0].Data) }),
			nil
	})
	attach.TierC(SoftmaxOutputGrad, softmaxGradC)
}

// softmaxGradC prepares a kernel for labels that are class numbers.
func softmaxGradC(p SoftmaxOutputParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) || a.In[1].Shape.Equal(a.In[0].Shape) || p.OutGrad {
		return nil, op.ErrUnsupported
	}
	v := newClasses(p, a.In[0].Shape)
	if a.In[1].Shape.Size() != v.samples*v.inner {
		return nil, op.ErrUnsupported
	}
	s := softmaxLoss(p, v, a.In[1].Shape.Size(),
		attach.Threads(a, device.Work{Bytes: attach.Bytes(a)}))
	return attach.Kernel(s.Threads, 0, func(c *op.Call) {
		s.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
	}), nil
}

// softmaxLoss returns the arguments of the gradient's kernel for the given number of labels.
func softmaxLoss(p SoftmaxOutputParams, v classes, labels, threads int) cpu.SoftmaxLoss {
	s := cpu.SoftmaxLoss{Axis: cpu.Axis3{Outer: v.samples, N: v.count, Inner: v.inner},
		Ignore:    int(p.IgnoreLabel.Value()),
		UseIgnore: p.UseIgnore, Valid: p.Normalization == "valid", Smooth: float32(p.SmoothAlpha),
		Threads: threads}
	scale := p.GradScale.Value()
	if p.MultiOutput {
		s.Smooth = 0
	}
	if !s.Valid {
		scale = v.scale(p, make([]float64, labels))
	}
	s.Scale = float32(scale)
	return s
}
