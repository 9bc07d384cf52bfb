//go:build cuda

package nn

import (
	"gomx/dtype"
)

func init() {
	layer := func(p LayerNormParams, s dtype.Shape) rowsArgs {
		v := newChannels(s, p.Axis.Value())
		return rowsArgs{groups: v.outer * v.inner, n: v.count, inner: v.inner, eps: p.Eps.Value()}
	}
	rowsCUDA(LayerNorm, LayerNormGrad, layer)
	rowsCUDA(InstanceNorm, InstanceNormGrad, func(p InstanceNormParams, s dtype.Shape) rowsArgs {
		return rowsArgs{groups: s[:2].Size(), n: s[2:].Size(), inner: 1, perGroup: s[1],
			eps: p.Eps.Value()}
	})
	rowsCUDA(GroupNorm, GroupNormGrad, func(p GroupNormParams, s dtype.Shape) rowsArgs {
		return rowsArgs{groups: s[0] * p.NumGroups, n: s[1:].Size() / p.NumGroups, inner: 1,
			perGroup: p.NumGroups, eps: p.Eps.Value()}
	})
}
