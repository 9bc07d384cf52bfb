package nn

import (
	"gomx/device"
	"gomx/device/cpu/pure"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(Convolution, func(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
		k, threads, err := convGo(p, a, a.In[0].Shape, a.Out[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 4*k.Scratch(), func(c *op.Call) {
			var bias []float32
			if !p.NoBias {
				bias = attach.Floats(c.In[2])
			}
			k.Run(attach.Floats(c.Out[0]), attach.Floats(c.In[0]), attach.Floats(c.In[1]), bias,
				attach.Scratch(c, k.Scratch()))
		}), nil
	})
	attach.TierGo(ConvolutionGrad, func(p ConvolutionParams, a *op.Args) (*op.Prepared, error) {
		k, threads, err := convGo(p, a, a.In[1].Shape, a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 4*k.ScratchGrad(), func(c *op.Call) {
			o := pure.ConvGrads{DX: attach.Floats(c.Out[0]), DW: attach.Floats(c.Out[1]),
				DY: attach.Floats(c.In[0]),
				X:  attach.Floats(c.In[1]), W: attach.Floats(c.In[2])}
			if !p.NoBias {
				o.DBias = attach.Floats(c.Out[2])
			}
			k.RunGrad(o, attach.Scratch(c, k.ScratchGrad()))
		}), nil
	})
}

func convGo(p ConvolutionParams, a *op.Args, data, output dtype.Shape) (*pure.Conv, int, error) {
	if !attach.Float32(a) || data.Size() == 0 || output.Size() == 0 {
		return nil, 0, op.ErrUnsupported
	}
	axes := len(p.Kernel)
	s := pure.ConvSpec{Batch: data[0], InChannels: data[1], OutChannels: p.NumFilter,
		Groups: p.NumGroup, In: data[2:], Out: output[2:],
		Kernel: p.Kernel, Stride: make([]int, axes), Dilate: make([]int, axes),
		Pad: make([]int, axes)}
	for i := range axes {
		s.Stride[i], s.Dilate[i], s.Pad[i] = at(p.Stride, i, 1), at(p.Dilate, i, 1), at(p.Pad, i, 0)
	}
	taps := float64(data[1]/p.NumGroup) * float64(dtype.Shape(p.Kernel).Size())
	s.Threads = attach.Threads(a, device.Work{Flops: 40 * taps * float64(output.Size())})
	return pure.NewConv(s), s.Threads, nil
}
