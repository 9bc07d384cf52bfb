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
	attach.Partly(Attention, func(p ScaledAttentionParams, a *op.Args) (*op.Prepared, error) {
		k, err := attentionC(p, a, a.In, a.Out[1:2])
		if err != nil || !a.Needs(0) {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, k.Scratch(false), func(c *op.Call) {
			seed := attentionSeed(p, c)
			o := attentionArrays(p, c.In, seed)
			o.Y, o.LSE = c.Out[0].Data, c.Out[1].Data
			k.Run(&o, c.Scratch)
			passSeed(c, seed)
		}), nil
	}, attach.Keeping[ScaledAttentionParams]([]int{0, 1, 2}, []int{0}))
	attach.Partly(attentionGrad, func(p ScaledAttentionParams, a *op.Args) (*op.Prepared, error) {
		in := a.In[p.first():]
		k, err := attentionC(p, a, in, a.In[2:3])
		if err != nil || !a.Needs(0) || !a.Needs(1) || !a.Needs(2) {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, k.Scratch(true), func(c *op.Call) {
			o := attentionArrays(p, c.In[p.first():], passedSeed(p, c))
			o.DY, o.Y, o.LSE = c.In[0].Data, c.In[1].Data, c.In[2].Data
			o.DQ, o.DK, o.DV = c.Out[0].Data, c.Out[1].Data, c.Out[2].Data
			if p.UseMask && !k.Mask.Bool {
				o.DMask = c.Out[3].Data
			}
			k.RunGrad(&o, c.Scratch)
			if p.UseMask && k.Mask.Bool && c.Out[3].Data != nil {
				clear(op.Bits[uint8](c.Out[3]))
			}
		}), nil
	}, func(p ScaledAttentionParams) (in, out []int) {
		q := p.first()
		return []int{0, 1, q, q + 1, q + 2}, []int{0, 1, 2}
	})
}

// attentionC describes the work for the kernels in C; in are query, key, value and so on.
func attentionC(p ScaledAttentionParams, a *op.Args, in, lse []op.Desc) (cpu.Attention, error) {
	rest := 3 + p.masks()
	narrow := attach.AllOf(dtype.BFloat16, in[:3]) // a mask of bfloat16 is widened
	if narrow && p.UseMask && in[3].DType != dtype.Bool && in[3].DType != dtype.Float32 {
		return cpu.Attention{}, op.ErrUnsupported
	}
	if !narrow && !attach.AllOf(dtype.Float32, in[:3]) || !attach.AllOf(dtype.Float32, lse) ||
		!attach.AllOf(dtype.Int32, in[rest:]) || in[0].Shape.Size() == 0 ||
		in[1].Shape.Size() == 0 {
		return cpu.Attention{}, op.ErrUnsupported
	}
	q := in[0].Shape
	k := cpu.Attention{Batch: q[0], N: q[1], Keys: in[1].Shape[1], Groups: p.kvHeads(),
		Group: p.Heads / p.kvHeads(), Size: q[2] / p.Heads, Causal: p.Causal,
		Drops: a.Train && p.Dropout > 0, Keep: 1 - p.Dropout, Narrow: narrow}
	if p.UseMask {
		k.Mask = cpu.AttentionMask{Strides: maskStrides(in[3].Shape),
			Extents: [4]int{1, 1, 1, 1}, Bool: in[3].DType == dtype.Bool}
		copy(k.Mask.Extents[4-len(in[3].Shape):], in[3].Shape)
	}
	k.Scale = float32(attending{p: p, size: k.Size}.scale())
	flops := float64(attentionFLOPs(p, []dtype.Shape{q, in[1].Shape}, nil))
	k.Threads = attach.Threads(a, device.Work{Flops: flops, Bytes: float64(in[1].Bytes + in[2].Bytes)})
	return k, nil
}

func attentionArrays(p ScaledAttentionParams, in []op.Tensor,
	seed op.Opt[op.Seed]) cpu.AttentionArrays {
	o := cpu.AttentionArrays{Q: in[0].Data, K: in[1].Data, V: in[2].Data}
	rest := in[3:]
	if p.UseMask {
		o.Mask, rest = rest[0].Data, rest[1:]
	}
	if p.UseLength {
		o.Lengths, rest = rest[0].Data, rest[1:]
	}
	if p.UsePosition {
		o.Positions = rest[0].Data
	}
	if s, ok := seed.Get(); ok {
		o.Seed = cpu.Philox{Key: s.Key, Counter: s.Counter}
	}
	return o
}
