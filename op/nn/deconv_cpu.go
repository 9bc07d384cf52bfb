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
	attach.TierC(Deconvolution, deconvC)
	attach.TierC(DeconvolutionGrad, deconvGradC)
}

// transposedSpec describes the convolution, from output to data, whose gradient by its data the
// layer is.
func (p DeconvolutionParams) transposedSpec(data, output dtype.Shape, a *op.Args) (s cpu.ConvSpec,
	ok bool) {
	axes := len(p.Kernel)
	s = cpu.ConvSpec{Batch: data[0], InChannels: output[1], OutChannels: data[1],
		Groups: p.NumGroup, In: output[2:], Out: data[2:],
		Kernel: p.Kernel, Stride: make([]int, axes), Dilate: make([]int, axes),
		Pad: make([]int, axes), Train: true}
	for i := range axes {
		s.Stride[i], s.Dilate[i] = at(p.Stride, i, 1), at(p.Dilate, i, 1)
		s.Pad[i], _, _ = deconvMargins(p, i, data[2+i])
	}
	taps := float64(output[1]/p.NumGroup) * float64(dtype.Shape(p.Kernel).Size())
	s.Threads = attach.Threads(a, device.Work{Flops: 2 * taps * float64(data.Size())})
	return s, data.Size() > 0 && output.Size() > 0
}

func deconvC(p DeconvolutionParams, a *op.Args) (*op.Prepared, error) {
	out := a.Out[0].Shape
	s, ok := p.transposedSpec(a.In[0].Shape, out, a)
	if !ok || !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	k, err := cpu.NewConvGrad(s, true, false)
	if err != nil {
		return nil, err
	}
	channels := unknown(len(out))
	for i := range channels {
		channels[i] = 1
	}
	channels[1] = out[1]
	bias, _ := cpu.NewBroadcast(cpu.Add, dtype.Float32, out, channels, out, s.Threads)
	return &op.Prepared{Threads: s.Threads, Scratch: k.Scratch(), Impls: k.Impls(),
		Run: func(c *op.Call) error {
			y := c.Out[0].Data
			if err := k.Run(cpu.ConvGrads{DX: y, DY: c.In[0].Data, W: c.In[1].Data},
				c.Scratch); err != nil {
				return err
			}
			if !p.NoBias.Value() {
				bias.Run(y, y, c.In[2].Data)
			}
			return nil
		}}, nil
}

func deconvGradC(p DeconvolutionParams, a *op.Args) (*op.Prepared, error) {
	dy := a.In[0].Shape
	s, ok := p.transposedSpec(a.In[1].Shape, dy, a)
	if !ok || !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	data, err := cpu.NewConv(s)
	if err != nil {
		return nil, err
	}
	weight, err := cpu.NewConvGrad(s, false, true)
	if err != nil {
		return nil, err
	}
	axes := make([]bool, len(dy))
	for i := range axes {
		axes[i] = i != 1
	}
	bias := cpu.NewReduce(cpu.Sum, dy, axes, 1, s.Threads)
	scratch := max(data.Scratch(), weight.Scratch(), bias.Scratch())
	impls := append(data.Impls(), weight.Impls()...)
	return &op.Prepared{Threads: s.Threads, Scratch: scratch, Impls: impls,
		Run: func(c *op.Call) error {
			g := c.In[0].Data
			if out := c.Out[0].Data; out != nil {
				if err := data.Run(out, g, c.In[2].Data, nil, c.Scratch); err != nil {
					return err
				}
			}
			if out := c.Out[1].Data; out != nil {
				if err := weight.Run(cpu.ConvGrads{DW: out, DY: c.In[1].Data, X: g},
					c.Scratch); err != nil {
					return err
				}
			}
			if !p.NoBias.Value() && c.Out[2].Data != nil {
				bias.Run(c.Out[2].Data, g, c.Scratch)
			}
			return nil
		}}, nil
}
