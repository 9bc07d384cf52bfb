//go:build cgo

package nn

import (
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(FoldAffine, func(p FoldAffineParams, a *op.Args) (*op.Prepared, error) {
		w, packed := a.Out[0].Layout.(*cpu.Packing)
		if !attach.AllOf(dtype.Float32, a.In) || !attach.AllOf(dtype.Float32, a.Out) ||
			!packed && a.Out[0].Layout != nil || a.Out[1].Layout != nil {
			return nil, op.ErrUnsupported
		}
		return foldingInto(w, a, func(c *op.Call, weight, bias []float32) {
			foldAffine(p, weight, bias, inputFloats(c.In))
		}), nil
	})
}

// inputFloats returns the elements of float32 arrays.
func inputFloats(list []op.Tensor) [][]float32 {
	in := make([][]float32, len(list))
	for i := range in {
		in[i] = attach.Floats(list[i])
	}
	return in
}
