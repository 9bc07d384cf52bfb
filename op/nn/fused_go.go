package nn

import (
	"slices"

	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(FusedConvolution, func(p FusedConvolutionParams, a *op.Args) (*op.Prepared,
		error) {
		return fusedConvGo(p, 0, a)
	})
	attach.TierGo(FusedConvolutionAdd, func(p FusedConvolutionParams, a *op.Args) (*op.Prepared,
		error) {
		return fusedConvGo(p, 1, a)
	})
}

// fusedConvGo runs the convolution, the addition and the rectifier one after the other. With a
// summand the convolution writes to scratch memory, because the summand may lie in the result.
func fusedConvGo(p FusedConvolutionParams, add int, a *op.Args) (*op.Prepared, error) {
	plain := *a
	plain.In = append(slices.Clone(a.In[:2]), a.In[2+add:]...)
	k, threads, err := convGo(p.plain(), &plain, a.In[0].Shape, a.Out[0].Shape)
	if err != nil || add > 0 && !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	size := a.Out[0].Shape.Size()
	return attach.Kernel(threads, 4*(k.Scratch()+add*size), func(c *op.Call) {
		var bias []float32
		if !p.NoBias {
			bias = attach.Floats(c.In[2+add])
		}
		scratch := attach.Scratch(c, k.Scratch()+add*size)
		y := attach.Floats(c.Out[0])
		made := y
		if add > 0 {
			made = scratch[k.Scratch():]
		}
		k.Run(made, attach.Floats(c.In[0]), attach.Floats(c.In[1]), bias, scratch[:k.Scratch()])
		if add > 0 {
			for i, v := range attach.Floats(c.In[fusedSum]) {
				y[i] = made[i] + v
			}
		}
		if p.ReLU {
			rectify(y)
		}
	}), nil
}

// rectify sets negative values to zero.
func rectify(y []float32) {
	for i, v := range y {
		if v < 0 {
			y[i] = 0
		}
	}
}
