package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// The gradients of the backward operators of pooling.
var (
	// poolSelect picks, from an array like data, the element of each window where data has its
	// maximum: the gradient of PoolingGrad by max.
	poolSelect = op.Declare[PoolingParams]("_select_Pooling")
	// poolV1Select sums, from an array like data, the elements over which PoolingV1Grad spreads one
	// gradient.
	poolV1Select = op.Declare[PoolingV1Params]("_select_Pooling_v1")
)

func init() {
	poolSelect.Define(op.Spec[PoolingParams]{
		Traits:    op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs:    inputs[PoolingParams]("grad", "data", "output"),
		Infer:     selection(inferPool),
		InferType: op.FloatType[PoolingParams],
		Grad: func(g *op.Grad, p PoolingParams) []op.Entry {
			return []op.Entry{PoolingGrad.Apply(p, g.Head(0), g.In(1), g.In(2)), {}, {}}
		},
		Ref: func(p PoolingParams, c *op.Call) error {
			g := newPooling(p, c.In[1].Shape, c.Out[0].Shape)
			h, x, y := loop.Floats(c.In[0]), loop.Floats(c.In[1]),
				make([]float64, c.Out[0].Shape.Size())
			g.each(func(w *cell) {
				if i := g.argmax(w, x); i >= 0 {
					y[w.out] = h[i]
				}
			})
			loop.Store(c.Out[0], 0, y)
			return nil
		},
	})
	poolV1Select.Define(op.Spec[PoolingV1Params]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    inputs[PoolingV1Params]("grad", "data", "output"),
		Infer:     selection(inferPoolV1),
		InferType: op.FloatType[PoolingV1Params],
		Grad: func(g *op.Grad, p PoolingV1Params) []op.Entry {
			return []op.Entry{PoolingV1Grad.Apply(p, g.Head(0), g.In(1), g.In(2)), {}, {}}
		},
		Ref: poolV1SelectRef,
	})
}

// selection infers the shapes of an array like data, data, output and an array like output.
func selection[P any](infer func(p P, in, out []dtype.Shape) error) func(p P, in,
	out []dtype.Shape) error {
	return func(p P, in, out []dtype.Shape) error {
		if err := op.Same("grad", &in[1], &in[0]); err != nil {
			return err
		}
		if err := op.Same("output", &in[2], &out[0]); err != nil {
			return err
		}
		fin, fout := []dtype.Shape{in[1]}, []dtype.Shape{in[2]}
		err := infer(p, fin, fout)
		in[0], in[1], in[2], out[0] = fin[0], fin[0].Clone(), fout[0], fout[0].Clone()
		return err
	}
}

func poolV1SelectRef(p PoolingV1Params, c *op.Call) error {
	g := newPooling(p.current(), c.In[1].Shape, c.Out[0].Shape)
	h, x, y := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	sums := make([]float64, len(y))
	g.each(func(w *cell) {
		g.elements(w, func(i int) {
			if p.PoolType != "max" || x[i] == y[w.out] {
				sums[w.out] += h[i]
			}
		})
		if p.PoolType == "avg" {
			sums[w.out] /= float64(volume(g.kernel))
		}
	})
	loop.Store(c.Out[0], 0, sums)
	return nil
}

// poolingSecond is the gradient of the backward operator of pooling by max and lp.
func poolingSecond(g *op.Grad, p PoolingParams) []op.Entry {
	if p.PoolType == "max" {
		return []op.Entry{poolSelect.Apply(p, g.Head(0), g.In(1), g.In(2)), {}, {}}
	}
	sums, k := p, float64(p.PValue.Or(1))
	sums.PoolType = "sum"
	return g.Through(func(in []op.Entry) []op.Entry {
		dy, x, y := in[0], in[1], in[2]
		if k == 1 {
			return []op.Entry{PoolingSumGrad.Apply(sums, dy, x)}
		}
		return []op.Entry{mul(power(x, k-1), PoolingSumGrad.Apply(sums, mul(dy, power(y, 1-k)), x))}
	})
}
