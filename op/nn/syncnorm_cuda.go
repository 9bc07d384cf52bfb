//go:build cuda

package nn

import (
	"unsafe"

	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.CUDA(SyncBatchNorm, syncNormCUDA) }

// syncNormCUDA serves one device: statistics that devices share are exchanged by the processor.
func syncNormCUDA(p SyncBatchNormParams, a *op.Args) (*op.Prepared, error) {
	if p.shares() && a.Train {
		return nil, op.ErrUnsupported
	}
	own := *a
	own.Out = []op.Desc{a.Out[0], a.Out[1], a.Out[3]}
	if a.Need != nil {
		own.Need = []bool{a.Need[0], a.Need[1], a.Need[2] || a.Need[3]}
	}
	k, err := batchNormCUDA(p.plain(), &own)
	if err != nil {
		return nil, err
	}
	// the variance of an inverse standard deviation: (1/inv)² - eps
	stat := []op.Desc{a.Out[2]}
	var steps []*op.Prepared
	for _, s := range []struct {
		name    string
		numbers []float64
	}{{"reciprocal", nil}, {"square", nil}, {"subs", []float64{p.Eps.Value()}},
		{"maxs", []float64{0}}} {
		step, err := attach.CUDAMap(&op.Args{In: stat, Out: stat, Device: a.Device}, s.name,
			s.numbers...)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	normalize, size := k.Run, (a.Out[3].Bytes+255)&^255
	k.Out, k.Scratch = a.Out, k.Scratch+size
	k.Run = func(c *op.Call) error {
		inv, vars := c.Out[3], c.Out[2]
		if inv.Data == nil && vars.Data != nil {
			inv.Data = c.Scratch
		}
		norm := *c
		norm.Scratch = unsafe.Add(c.Scratch, size)
		norm.Out = []op.Tensor{c.Out[0], c.Out[1], inv}
		if err := normalize(&norm); err != nil || vars.Data == nil {
			return err
		}
		for i, step := range steps {
			one := *c
			one.In, one.Out = []op.Tensor{vars}, []op.Tensor{vars}
			if i == 0 {
				one.In[0] = inv
			}
			if err := step.Run(&one); err != nil {
				return err
			}
		}
		return nil
	}
	return k, nil
}
