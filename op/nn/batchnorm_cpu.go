//go:build cgo

package nn

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(BatchNorm, func(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
		b, err := batchNormC(p, a, a.In[0])
		if err != nil {
			return nil, err
		}
		return attach.Kernel(b.Threads, 0, func(c *op.Call) {
			in, out := c.In, c.Out
			b.Run(cpu.Norm{Y: out[0].Data, Mean: out[1].Data, Inv: out[2].Data, X: in[0].Data, Gamma: in[1].Data, Beta: in[2].Data,
				MovingMean: in[3].Data, MovingVar: in[4].Data})
		}), nil
	})
	attach.TierC(BatchNormGrad, func(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
		b, err := batchNormC(p, a, a.In[1])
		if err != nil {
			return nil, err
		}
		return attach.Kernel(b.Threads, 0, func(c *op.Call) {
			in, out := c.In, c.Out
			b.RunGrad(cpu.NormGrad{DX: out[0].Data, DGamma: out[1].Data, DBeta: out[2].Data, DY: in[0].Data, X: in[1].Data,
				Gamma: in[2].Data, Mean: in[3].Data, Inv: in[4].Data})
		}), nil
	})
}

func batchNormC(p BatchNormParams, a *op.Args, data op.Desc) (cpu.BatchNorm, error) {
	if !attach.Float32(a) || data.Shape.Size() == 0 {
		return cpu.BatchNorm{}, op.ErrUnsupported
	}
	axis, err := axisOf("axis", p.Axis.Value(), len(data.Shape))
	if err != nil {
		return cpu.BatchNorm{}, err
	}
	return cpu.BatchNorm{Axis: cpu.SplitAt(data.Shape, axis), Eps: float32(p.Eps), Momentum: float32(p.Momentum.Value()),
		FixGamma: !p.NoFixGamma, Learn: a.Train && !p.UseGlobalStats,
		Threads: attach.Threads(a, device.Work{Bytes: 2 * attach.Bytes(a)})}, nil
}
