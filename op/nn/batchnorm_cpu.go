//go:build cgo

package nn

import (
	"slices"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.Partly(BatchNorm, func(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
		if k, err := blockedNormC(p, false, a); err == nil {
			return k, nil
		}
		b, err := batchNormC(p, a, a.In[0])
		if err != nil {
			return nil, err
		}
		return attach.Kernel(b.Threads, 0, func(c *op.Call) { b.Run(normOf(c)) }), nil
	}, attach.Keeping[BatchNormParams]([]int{0}, []int{0}))
	attach.Partly(BatchNormGrad, func(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
		if k, err := blockedNormGradC(p, a); err == nil {
			return k, nil
		}
		b, err := batchNormC(p, a, a.In[1])
		if err != nil {
			return nil, err
		}
		return attach.Kernel(b.Threads, 0, func(c *op.Call) { b.RunGrad(normGradOf(c)) }), nil
	}, attach.Keeping[BatchNormParams]([]int{0, 1}, []int{0}))
}

// normOf returns the operands of BatchNorm.
func normOf(c *op.Call) cpu.Norm {
	in, out := c.In, c.Out
	return cpu.Norm{Y: out[0].Data, Mean: out[1].Data, Inv: out[2].Data, X: in[0].Data,
		Gamma: in[1].Data, Beta: in[2].Data,
		MovingMean: in[3].Data, MovingVar: in[4].Data}
}

// normGradOf returns the operands of BatchNormGrad.
func normGradOf(c *op.Call) cpu.NormGrad {
	in, out := c.In, c.Out
	return cpu.NormGrad{DX: out[0].Data, DGamma: out[1].Data, DBeta: out[2].Data, DY: in[0].Data,
		X:     in[1].Data,
		Gamma: in[2].Data, Mean: in[3].Data, Inv: in[4].Data}
}

func batchNormC(p BatchNormParams, a *op.Args, data op.Desc) (cpu.BatchNorm, error) {
	if !attach.Float32(a) || data.Shape.Size() == 0 {
		return cpu.BatchNorm{}, op.ErrUnsupported
	}
	return normSpec(p, a, data)
}

func normSpec(p BatchNormParams, a *op.Args, data op.Desc) (cpu.BatchNorm, error) {
	axis, err := axisOf("axis", p.Axis.Value(), len(data.Shape))
	if err != nil {
		return cpu.BatchNorm{}, err
	}
	return cpu.BatchNorm{Axis: cpu.SplitAt(data.Shape, axis), Eps: float32(p.Eps.Value()),
		Momentum: float32(p.Momentum.Value()),
		FixGamma: !p.NoFixGamma, Learn: a.Train && !p.UseGlobalStats,
		Threads: attach.Threads(a, device.Work{Bytes: 2 * attach.Bytes(a)})}, nil
}

// blockedSpec describes the normalization of data in blocks of 16 channels, which is all that is
// served beside plain arrays. Output 0 has the shape of data; the inputs and outputs with the given
// numbers may be bfloat16.
func blockedSpec(p BatchNormParams, a *op.Args, data op.Desc, in, out []int) (cpu.BlockedNorm,
	error) {
	narrow, ok := mapTypes(a, in, out)
	if !ok || data.Shape.Size() == 0 {
		return cpu.BlockedNorm{}, op.ErrUnsupported
	}
	if l, ok := memoryOf(data); !ok || l != cpu.LayoutBlock16 || data.Layout != nil &&
		!a.Chooses(0) {
		return cpu.BlockedNorm{}, op.ErrUnsupported
	}
	b, err := normSpec(p, a, data)
	if err == nil && (b.Axis.Outer != data.Shape[0] || b.Axis.N != data.Shape[1]) {
		err = op.ErrUnsupported
	}
	return cpu.BlockedNorm{BatchNorm: b, Narrow: narrow}, err
}

// blocked returns descriptions with those at some places in blocks of 16 channels, which is plain
// where there is one pixel.
func blocked(list []op.Desc, at ...int) []op.Desc {
	list = slices.Clone(list)
	for _, i := range at {
		if list[i] = op.Plain(list[i].DType, list[i].Shape); !onePixel(list[i].Shape) {
			list[i].Layout = cpu.LayoutBlock16
		}
	}
	return list
}

func blockedNormC(p BatchNormParams, relu bool, a *op.Args) (*op.Prepared, error) {
	laid := []int{0}
	if len(a.In) > normSum {
		laid = append(laid, normSum)
	}
	b, err := blockedSpec(p, a, a.In[0], laid, []int{0})
	if err != nil {
		return nil, err
	}
	b.ReLU = relu
	return &op.Prepared{Threads: b.Threads, Scratch: b.Scratch(), In: blocked(a.In, laid...),
		Out: blocked(a.Out, 0), Run: func(c *op.Call) error {
			o := cpu.BlockedNormCall{Norm: normOf(c), Scratch: c.Scratch}
			if len(c.In) > normSum {
				o.Sum = c.In[normSum].Data
			}
			b.Run(o)
			return nil
		}}, nil
}

func blockedNormGradC(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
	b, err := blockedSpec(p, a, a.In[1], []int{0, 1}, []int{0})
	if err != nil {
		return nil, err
	}
	return &op.Prepared{Threads: b.Threads, Scratch: b.Scratch(), In: blocked(a.In, 0, 1),
		Out: blocked(a.Out, 0), Run: func(c *op.Call) error {
			b.RunGrad(cpu.BlockedNormGradCall{NormGrad: normGradOf(c), Scratch: c.Scratch})
			return nil
		}}, nil
}
