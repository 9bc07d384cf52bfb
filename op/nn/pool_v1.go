package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// PoolingV1Params configures PoolingV1.
type PoolingV1Params struct {
	Kernel            []int  `op:"kernel" doc:"extent of the window: (h, w)"`
	PoolType          string `op:"pool_type" default:"max" enum:"max|avg|sum" doc:"what is made of a window"`
	GlobalPool        bool   `op:"global_pool" doc:"the window covers everything"`
	PoolingConvention string `op:"pooling_convention" default:"valid" enum:"full|valid" doc:"how the extent of the output is rounded"`
	Stride            []int  `op:"stride" doc:"step of the window, 1 by default"`
	Pad               []int  `op:"pad" doc:"zeros added on both sides, 0 by default"`
}

// PoolingV1 is pooling as the first versions of MXNet computed it.
var PoolingV1 = op.Declare[PoolingV1Params]("Pooling_v1")

// PoolingV1Grad is the gradient of PoolingV1: from the gradient of the output, data and output to
// the gradient of the data.
var PoolingV1Grad = op.Declare[PoolingV1Params]("_backward_Pooling_v1")

func init() {
	PoolingV1.Define(op.Spec[PoolingV1Params]{
		Traits: op.Traits{
			Doc: `PoolingV1 (Pooling_v1) is pooling as the first versions of MXNet computed it, for old models.

It differs from Pooling in that the padding counts as zeros for max, that avg always divides by the
full extent of the window, and that all elements equal to the maximum get its gradient.`,
			GoName: "PoolingV1",
			Kind:   op.Pooling,
		},
		Infer:     inferPoolV1,
		InferType: op.FloatType[PoolingV1Params],
		Grad: func(g *op.Grad, p PoolingV1Params) []op.Entry {
			return []op.Entry{PoolingV1Grad.Apply(p, g.Head(0), g.In(0), g.Out(0))}
		},
		Ref: poolV1Ref,
	})
	PoolingV1Grad.Define(op.Spec[PoolingV1Params]{
		Traits: op.Traits{Hidden: true},
		Inputs: inputs[PoolingV1Params]("out_grad", "data", "output"),
		Infer: func(p PoolingV1Params, in, out []dtype.Shape) error {
			if err := op.Same("output", &in[0], &in[2]); err != nil {
				return err
			}
			if err := op.Same("gradient", &in[1], &out[0]); err != nil {
				return err
			}
			fin, fout := []dtype.Shape{in[1]}, []dtype.Shape{in[0]}
			err := inferPoolV1(p, fin, fout)
			in[0], in[1], in[2], out[0] = fout[0], fin[0], fout[0].Clone(), fin[0].Clone()
			return err
		},
		InferType: op.FloatType[PoolingV1Params],
		Grad: func(g *op.Grad, p PoolingV1Params) []op.Entry {
			return []op.Entry{poolV1Select.Apply(p, g.Head(0), g.In(1), g.In(2)), {}, {}}
		},
		Ref: poolV1GradRef,
	})
}

// current returns the attributes of Pooling that give the same windows.
func (p PoolingV1Params) current() PoolingParams {
	return PoolingParams{Kernel: p.Kernel, PoolType: p.PoolType, GlobalPool: p.GlobalPool,
		Stride: p.Stride, Pad: p.Pad, PoolingConvention: p.PoolingConvention}
}

func inferPoolV1(p PoolingV1Params, in, out []dtype.Shape) error {
	return inferPool(p.current(), in, out)
}

// overlaps reports whether a window covers padding.
func (c *cell) overlaps() bool {
	return c.covered != max(c.hi[0]-c.lo[0], 0)*max(c.hi[1]-c.lo[1], 0)*max(c.hi[2]-c.lo[2], 0)
}

func poolV1Ref(p PoolingV1Params, c *op.Call) error {
	g := newPooling(p.current(), c.In[0].Shape, c.Out[0].Shape)
	x, y := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
	g.each(func(w *cell) {
		if p.PoolType == "max" {
			y[w.out] = math.Inf(-1)
			if i := g.argmax(w, x); i >= 0 {
				y[w.out] = x[i]
			}
			if w.overlaps() {
				y[w.out] = max(y[w.out], 0)
			}
			return
		}
		g.elements(w, func(i int) { y[w.out] += x[i] })
		if p.PoolType == "avg" {
			y[w.out] /= float64(volume(g.kernel))
		}
	})
	loop.Store(c.Out[0], 0, y)
	return nil
}

func poolV1GradRef(p PoolingV1Params, c *op.Call) error {
	g := newPooling(p.current(), c.In[1].Shape, c.In[0].Shape)
	dy, x, y := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[2])
	dx := make([]float64, len(x))
	g.each(func(w *cell) {
		v := dy[w.out]
		if p.PoolType == "avg" {
			v /= float64(volume(g.kernel))
		}
		g.elements(w, func(i int) {
			if p.PoolType != "max" || x[i] == y[w.out] {
				dx[i] += v
			}
		})
	})
	loop.Store(c.Out[0], 0, dx)
	return nil
}
