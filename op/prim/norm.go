package prim

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// NormParams are the parameters of Norm.
type NormParams struct {
	Ord      int                `op:"ord" default:"2" min:"1" doc:"1: sum of absolute values, 2: Euclidean"`
	Axis     []int              `op:"axis" doc:"axes to reduce; none: all"`
	OutDType op.Opt[dtype.Type] `op:"out_dtype" doc:"element type of the output; None: that of data"`
	KeepDims bool               `op:"keepdims" doc:"keep reduced axes with extent one"`
}

// MomentsParams are the parameters of Moments.
type MomentsParams struct {
	Axes     []int `op:"axes" doc:"axes to reduce; none: all"`
	KeepDims bool  `op:"keepdims" doc:"keep reduced axes with extent one"`
}

// Norm and Moments reduce elements to a measure of their size and of their spread.
var (
	Norm    = op.Declare[NormParams]("norm")
	Moments = op.Declare[MomentsParams]("moments")
)

func init() {
	Norm.Define(op.Spec[NormParams]{
		Traits: op.Traits{
			Doc: "Norm computes the sum of absolute values, or the square root of the sum of " +
				"squares, over the given axes, over all of them if none are given. With an " +
				"infinite element it is +Inf, in MXNet NaN.",
			Aliases:   []string{"_sparse_norm"},
			Precision: op.Wide,
		},
		Infer: func(p NormParams, in, out []dtype.Shape) error {
			if p.Ord != 1 && p.Ord != 2 {
				return op.Errorf("ord", "%d, want 1 or 2", p.Ord)
			}
			return inferReduce(p.reduce(), in, out)
		},
		InferType: func(p NormParams, in, out []dtype.Type) error {
			if t, ok := p.OutDType.Get(); ok {
				return requireType("output", &out[0], t)
			}
			return op.SameType(p, in, out)
		},
		Grad:  normGrad,
		FLOPs: func(_ NormParams, in, _ []dtype.Shape) int64 { return 2 * int64(in[0].Size()) },
		Ref:   norm,

		Storage: normStorage, Sparse: normStored,
	})
	Moments.Define(op.Spec[MomentsParams]{
		Traits: op.Traits{
			Doc: "Moments computes the mean and the variance (of the whole population) over the " +
				"given axes, over all of them if none are given.",
			Multi:     true,
			Precision: op.Wide,
		},
		Outputs: func(MomentsParams) []string { return []string{"output0", "output1"} },
		Infer: func(p MomentsParams, in, out []dtype.Shape) error {
			if err := eachLike(out[:1], out[1:]); err != nil {
				return err
			}
			if err := inferReduce(p.reduce(), in, out[:1]); err != nil {
				return err
			}
			return eachLike(out[:1], out[1:])
		},
		Grad:  momentsGrad,
		FLOPs: func(_ MomentsParams, in, _ []dtype.Shape) int64 { return 3 * int64(in[0].Size()) },
		Ref:   moments,
	})
}

func (p NormParams) reduce() ReduceParams {
	return ReduceParams{Axis: p.Axis, KeepDims: p.KeepDims}
}

func (p MomentsParams) reduce() ReduceParams {
	return ReduceParams{Axis: p.Axes, KeepDims: p.KeepDims}
}

// normGrad is dy·sign(x), or dy·x/y; in the zero vector the latter is NaN, as in MXNet.
func normGrad(g *op.Grad, p NormParams) []op.Entry {
	e := expandParams{Axis: p.Axis, KeepDims: p.KeepDims}
	x, y, dy := g.In(0), g.Out(0), g.Head(0)
	if p.OutDType.IsSet() {
		y, dy = CastLike.Apply(none, y, x), CastLike.Apply(none, dy, x)
	}
	if p.Ord == 1 {
		return []op.Entry{mul(expand(e, dy, x), Sign.Apply(none, x))}
	}
	return []op.Entry{mul(expand(e, div(dy, y), x), x)}
}

func norm(p NormParams, c *op.Call) error {
	in, out := c.In[0], c.Out[0]
	mask, err := p.reduce().reduced(len(in.Shape))
	if err != nil {
		return err
	}
	f := fold{f: func(acc, x float64) float64 { return acc + x*x }}
	if p.Ord == 1 {
		f.f = func(acc, x float64) float64 { return acc + math.Abs(x) }
	}
	acc := make([]float64, out.Shape.Size())
	foldFloat(f, acc, in.Shape, in, [][]int{in.Shape.Strides(), spread(in.Shape, mask)})
	if p.Ord == 2 {
		for i, v := range acc {
			acc[i] = math.Sqrt(v)
		}
	}
	loop.Store(out, 0, acc)
	return nil
}

// momentsGrad is dmean/n + dvar·2(x-mean)/n.
func momentsGrad(g *op.Grad, p MomentsParams) []op.Entry {
	e := expandParams{Axis: p.Axes, KeepDims: p.KeepDims, Mean: true}
	plain := e
	plain.Mean = false
	x := g.In(0)
	centred := ElemwiseSub.Apply(none, x, expand(plain, g.Out(0), x))
	spread := mul(expand(e, scale(g.Head(1), 2), x), centred)
	return []op.Entry{ElemwiseAdd.Apply(none, expand(e, g.Head(0), x), spread)}
}

func moments(p MomentsParams, c *op.Call) error {
	in := c.In[0]
	mask, err := p.reduce().reduced(len(in.Shape))
	if err != nil {
		return err
	}
	st := spread(in.Shape, mask)
	n := ReducedShape(in.Shape, mask, p.KeepDims).Size()
	mean, variance := make([]float64, n), make([]float64, n)
	count := float64(in.Shape.Size()) / float64(n)
	x := loop.Floats(in)
	visit := func(f func(v float64, o int)) {
		loop.Walk(in.Shape, func(n int, off, step []int) {
			for i := range n {
				f(x[off[0]+i*step[0]], off[1]+i*step[1])
			}
		}, in.Shape.Strides(), st)
	}
	visit(func(v float64, o int) { mean[o] += v / count })
	visit(func(v float64, o int) { variance[o] += (v - mean[o]) * (v - mean[o]) / count })
	for i, s := range [][]float64{mean, variance} {
		if c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, s)
		}
	}
	return nil
}
