//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.CUDA(BatchNormReLU, batchNormReLUCUDA) }

// batchNormReLUCUDA normalizes, and then rectifies in place.
func batchNormReLUCUDA(p BatchNormParams, a *op.Args) (*op.Prepared, error) {
	k, err := batchNormCUDA(p, a)
	if err != nil {
		return nil, err
	}
	out := a.Out[:1]
	relu, err := attach.CUDAMap(&op.Args{In: out, Out: out, Device: a.Device}, "relu")
	if err != nil {
		return nil, err
	}
	normalize := k.Run
	k.Run = func(c *op.Call) error {
		if err := normalize(c); err != nil || c.Out[0].Data == nil {
			return err
		}
		y := *c
		y.In, y.Out = c.Out[:1], c.Out[:1]
		return relu.Run(&y)
	}
	return k, nil
}
