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
	attach.TierC(RotaryEmbedding, rotaryC(false))
	attach.TierC(rotaryGrad, rotaryC(true))
}

func rotaryC(back bool) op.Prepare[RotaryEmbeddingParams] {
	return func(p RotaryEmbeddingParams, a *op.Args) (*op.Prepared, error) {
		s := a.In[0].Shape
		rate := p.rates(extent(s, -1))
		if !attach.AllOf(dtype.Float32, a.In[:1]) || !attach.AllOf(dtype.Float32, a.Out) ||
			!attach.AllOf(dtype.Int32, a.In[1:]) || s.Size() == 0 || len(rate) > cpu.RotaryPairs {
			return nil, op.ErrUnsupported
		}
		outer := s[:len(s)-2].Size()
		k := cpu.Rotary{Outer: outer, Length: extent(s, -2), Heads: extent(s, -1) / (2 * len(rate)),
			Offset: p.Offset, Share: max(1, outer/s[0]), Rate: rate, Interleaved: p.Interleaved,
			Back: back, Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			var position unsafe.Pointer
			if p.UsePosition {
				position = c.In[1].Data
			}
			k.Run(c.Out[0].Data, c.In[0].Data, position)
		}), nil
	}
}
