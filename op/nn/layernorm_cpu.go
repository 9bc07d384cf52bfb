//go:build cgo

package nn

import (
	"slices"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attachNorm(LayerNorm, LayerNormGrad, func(p LayerNormParams, s dtype.Shape) (cpu.RowNorm,
		bool) {
		a, err := axisOf("axis", p.Axis.Value(), len(s))
		if err != nil || s[a+1:].Size() != 1 {
			return cpu.RowNorm{}, false
		}
		return cpu.RowNorm{Rows: s[:a].Size(), N: s[a], Params: s[a], PerElement: true,
			Eps: float32(p.Eps.Value())}, true
	})
	attachNorm(InstanceNorm, InstanceNormGrad, func(p InstanceNormParams,
		s dtype.Shape) (cpu.RowNorm, bool) {
		return cpu.RowNorm{Rows: s[0] * s[1], N: s[2:].Size(), Params: s[1],
			Eps: float32(p.Eps.Value())}, true
	})
	attachNorm(GroupNorm, GroupNormGrad, func(p GroupNormParams, s dtype.Shape) (cpu.RowNorm,
		bool) {
		return cpu.RowNorm{Rows: s[0] * p.NumGroups, N: s[1:].Size() / p.NumGroups,
			Params: p.NumGroups, Eps: float32(p.Eps.Value())}, true
	})
}

// attachNorm attaches kernels to a normalization whose groups are rows of data.
func attachNorm[P any](h, grad op.Handle[P], rows func(p P, data dtype.Shape) (cpu.RowNorm, bool)) {
	prepare := func(p P, a *op.Args, data dtype.Shape, in, out []int) (cpu.RowNorm, error) {
		k, ok := rows(p, data)
		if !ok {
			return k, op.ErrUnsupported
		}
		if k.Narrow, ok = mapTypes(a, in, out); !ok || !plain(a) || data.Size() == 0 {
			return k, op.ErrUnsupported
		}
		k.Threads = attach.Threads(a, device.Work{Bytes: 2 * attach.Bytes(a)})
		return k, nil
	}
	first, two := []int{0}, []int{0, 1}
	attach.Partly(h, func(p P, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a, a.In[0].Shape, first, first)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.Run(&cpu.RowNormed{Y: c.Out[0].Data, Mean: c.Out[1].Data, Std: c.Out[2].Data,
				X: c.In[0].Data, Gamma: c.In[1].Data, Beta: c.In[2].Data})
		}), nil
	}, attach.Keeping[P](first, first))
	attach.Partly(grad, func(p P, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a, a.In[1].Shape, two, first)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, k.GradScratch(), func(c *op.Call) {
			k.RunGrad(&cpu.RowNormGrads{DX: c.Out[0].Data, DGamma: c.Out[1].Data,
				DBeta: c.Out[2].Data, DY: c.In[0].Data, X: c.In[1].Data,
				Gamma: c.In[2].Data, Mean: c.In[3].Data, Std: c.In[4].Data}, c.Scratch)
		}), nil
	}, attach.Keeping[P](two, first))
}

// plain reports whether no operand has a layout.
func plain(a *op.Args) bool {
	laid := func(d op.Desc) bool { return d.Layout != nil }
	return !slices.ContainsFunc(a.In, laid) && !slices.ContainsFunc(a.Out, laid)
}

// mapTypes reports whether the inputs and outputs with the given numbers are all bfloat16 or all
// float32; ok is false where they are neither or others are not float32.
func mapTypes(a *op.Args, in, out []int) (narrow, ok bool) {
	narrow = a.In[in[0]].DType == dtype.BFloat16
	for at, list := range [][]op.Desc{a.In, a.Out} {
		for i, d := range list {
			want := dtype.Float32
			if narrow && slices.Contains([][]int{in, out}[at], i) {
				want = dtype.BFloat16
			}
			if d.DType != want {
				return narrow, false
			}
		}
	}
	return narrow, true
}
