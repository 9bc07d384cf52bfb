//go:build cgo

package nn

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Attention, func(p ScaledAttentionParams, a *op.Args) (*op.Prepared, error) {
		k, err := attentionC(p, a, a.In)
		if err != nil || !a.Needs(0) {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, k.Scratch(), func(c *op.Call) {
			o := arraysOf(p, c.In)
			o.Y, o.LSE = c.Out[0].Data, c.Out[1].Data
			k.Run(&o, c.Scratch)
		}), nil
	})
	attach.TierC(attentionGrad, func(p ScaledAttentionParams, a *op.Args) (*op.Prepared, error) {
		k, err := attentionC(p, a, a.In[3:])
		if err != nil || !a.Needs(0) || !a.Needs(1) || !a.Needs(2) {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, k.Scratch(), func(c *op.Call) {
			o := arraysOf(p, c.In[3:])
			o.DY, o.Y, o.LSE = c.In[0].Data, c.In[1].Data, c.In[2].Data
			o.DQ, o.DK, o.DV = c.Out[0].Data, c.Out[1].Data, c.Out[2].Data
			k.RunGrad(&o, c.Scratch)
		}), nil
	})
}

// attentionC describes the work for the kernels in C; in are query, key, value and so on.
func attentionC(p ScaledAttentionParams, a *op.Args, in []op.Desc) (cpu.Attention, error) {
	rest := len(a.In) - len(in)
	if !attach.AllOf(dtype.Float32, a.In[:rest+3]) || !attach.AllOf(dtype.Float32, a.Out) ||
		!attach.AllOf(dtype.Int32, in[3:]) || in[0].Shape.Size() == 0 || in[1].Shape.Size() == 0 {
		return cpu.Attention{}, op.ErrUnsupported
	}
	q := in[0].Shape
	k := cpu.Attention{Batch: q[0], N: q[1], Keys: in[1].Shape[1], Groups: p.kvHeads(),
		Group: p.Heads / p.kvHeads(), Size: q[2] / p.Heads, Causal: p.Causal}
	k.Scale = float32(attending{p: p, size: k.Size}.scale())
	flops := float64(attentionFLOPs(p, []dtype.Shape{q, in[1].Shape}, nil))
	k.Threads = attach.Threads(a, device.Work{Flops: flops})
	return k, nil
}

func arraysOf(p ScaledAttentionParams, in []op.Tensor) cpu.AttentionArrays {
	o := cpu.AttentionArrays{Q: in[0].Data, K: in[1].Data, V: in[2].Data}
	if p.UseLength {
		o.Lengths, in = in[3].Data, in[1:]
	}
	if p.UsePosition {
		o.Positions = in[3].Data
	}
	return o
}
