//go:build cgo

package quant

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(QuantizeV2, quantizeC)
	attach.TierC(Dequantize, dequantizeC)
}

// quantizeC quantizes with a known range.
func quantizeC(p QuantizeV2Params, a *op.Args) (*op.Prepared, error) {
	x, y := a.In[0], a.Out[0]
	r := calibrated(p.MinCalibRange, p.MaxCalibRange)
	if x.DType != dtype.Float32 || x.Layout != nil || !r.known || x.Shape.Size() == 0 ||
		len(x.Shape) == 0 {
		return nil, op.ErrUnsupported
	}
	m := magnitude(r.low, r.high)
	if y.DType == dtype.Int8 {
		r.low, r.high = -m, m
	}
	q, out := imageQuantizer(a, nil)
	q.Scale = RangeOf(y.DType) / m
	return &op.Prepared{Threads: q.Threads, Out: out, Run: func(c *op.Call) error {
		if c.Out[0].Data != nil {
			q.Run(c.Out[0].Data, c.In[0].Data)
		}
		storeRange(c.Out[1:], r.low, r.high)
		return nil
	}}, nil
}

// imageQuantizer returns the quantizer of the first operands, which chooses the channels last where
// it may, and the outputs. pads are the zeros around an image, as FusedQuantize has them.
func imageQuantizer(a *op.Args, pads []int) (*cpu.Quantizer, []op.Desc) {
	x, y := a.In[0], a.Out[0]
	q := &cpu.Quantizer{Type: y.DType, Batch: 1, Channels: x.Shape[0],
		In:      []int{x.Shape[1:].Size()},
		Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
	out := append([]op.Desc{}, a.Out...)
	if n := len(x.Shape); n == 4 || n == 5 {
		q.Batch, q.Channels, q.In = x.Shape[0], x.Shape[1], x.Shape[2:]
		if q.Last = a.Chooses(0); q.Last {
			out[0] = attach.InLayout(y, cpu.LayoutLast)
		}
		if len(pads) > 0 {
			q.Out = y.Shape[2:]
			for i := range q.In {
				q.Before = append(q.Before, pads[4+2*i])
			}
		}
	}
	return q, out
}

func dequantizeC(_ DequantizeParams, a *op.Args) (*op.Prepared, error) {
	x := a.In[0]
	l, ok := layoutOf(x)
	if !ok || l != cpu.LayoutPlain && !a.Chooses(0) || x.Shape.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	n, t := x.Shape.Size(), x.DType
	threads := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	return &op.Prepared{Threads: threads, Out: []op.Desc{attach.InLayout(a.Out[0], l)},
		Run: func(c *op.Call) error {
			cpu.Dequantize(c.Out[0].Data, c.In[0].Data, t, magnitudeOf(c.In[1:])/RangeOf(t), n,
				threads)
			return nil
		}}, nil
}
