package prim

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ReduceParams are the parameters of reductions.
type ReduceParams struct {
	Axis     []int `op:"axis" doc:"axes to reduce; none: all"`
	KeepDims bool  `op:"keepdims" doc:"keep reduced axes with extent one"`
	Exclude  bool  `op:"exclude" doc:"reduce all axes but those given"`
}

// The reductions.
var (
	Sum     = op.Declare[ReduceParams]("sum")
	Mean    = op.Declare[ReduceParams]("mean")
	Prod    = op.Declare[ReduceParams]("prod")
	NanSum  = op.Declare[ReduceParams]("nansum")
	NanProd = op.Declare[ReduceParams]("nanprod")
	Max     = op.Declare[ReduceParams]("max")
	Min     = op.Declare[ReduceParams]("min")
)

// expandParams are the parameters of _expand_reduced, which agree with the reduction that it
// undoes.
type expandParams struct {
	Axis     []int `op:"axis"`
	KeepDims bool  `op:"keepdims"`
	Exclude  bool  `op:"exclude"`
	Mean     bool  `op:"mean"` // divide by the number of elements that were reduced
}

// expandReduced repeats the result of a reduction to the shape of the reduced array.
var expandReduced = op.Declare[expandParams]("_expand_reduced")

// reduction is a row of the table: f folds an element into the result so far, starting from init.
type reduction struct {
	op      op.Handle[ReduceParams]
	goName  string
	what    string
	aliases []string
	fold    fold
	grad    func(e expandParams, x, y, dy op.Entry) op.Entry
}

// fold describes how elements are folded into a result, as float64 or for integers as int64.
type fold struct {
	init  float64
	f     func(acc, x float64) float64
	initI int64
	i     func(acc, x int64) int64
	mean  bool // divide by the number of elements in the end
}

func init() {
	for _, r := range reductions() {
		r.define()
	}
	expandReduced.Define(op.Spec[expandParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}},
		Inputs: Inputs[expandParams]("data", "like"),
		Infer: func(p expandParams, in, out []dtype.Shape) error {
			if err := inferReduce(p.reduce(), in[1:], in[:1]); err != nil {
				return err
			}
			return op.SameShape(p, in[1:], out)
		},
		Grad: func(g *op.Grad, p expandParams) []op.Entry {
			if p.Mean {
				return []op.Entry{Mean.Apply(p.reduce(), g.Head(0)), {}}
			}
			return []op.Entry{Sum.Apply(p.reduce(), g.Head(0)), {}}
		},
		Ref: expandRef,
	})
}

func (p expandParams) reduce() ReduceParams {
	return ReduceParams{Axis: p.Axis, KeepDims: p.KeepDims, Exclude: p.Exclude}
}

// expand repeats e, a result of reduction p, to the shape of x.
func expand(p expandParams, e, x op.Entry) op.Entry { return expandReduced.Apply(p, e, x) }

func (r reduction) define() {
	doc := r.goName + " computes " + r.what +
		" over the given axes, over all of them if none are given. Reducing all axes gives shape " +
		"(1,) unless keepdims is set."
	infer, precision := inferReduce, op.Wide
	if r.op == Max || r.op == Min {
		doc += " An extremum of no elements is an error."
		infer, precision = inferExtremum, op.AnyPrecision
	}
	s := op.Spec[ReduceParams]{
		Traits: op.Traits{Doc: doc, GoName: r.goName, Aliases: r.aliases, Precision: precision},
		Infer:  infer,
		Grad: func(g *op.Grad, p ReduceParams) []op.Entry {
			e := expandParams{Axis: p.Axis, KeepDims: p.KeepDims, Exclude: p.Exclude}
			return []op.Entry{r.grad(e, g.In(0), g.Out(0), g.Head(0))}
		},
		FLOPs: op.PerInput[ReduceParams],
		Ref:   func(p ReduceParams, c *op.Call) error { return r.fold.run(p, c.Out[0], c.In[0]) },
	}
	r.storeSums(&s)
	r.op.Define(s)
}

func reductions() []reduction {
	// equal elements share in the gradient of an extremum
	extremum := func(e expandParams, x, y, dy op.Entry) op.Entry {
		return mul(expand(e, dy, x), Equal.Apply(none, x, expand(e, y, x)))
	}
	add := func(acc, x int64) int64 { return acc + x }
	times := func(acc, x int64) int64 { return acc * x }
	return []reduction{
		{Sum, "Sum", "the sum", []string{"_sparse_sum", "sum_axis"},
			fold{f: func(acc, x float64) float64 { return acc + x }, i: add},
			func(e expandParams, x, _, dy op.Entry) op.Entry { return expand(e, dy, x) }},
		{Mean, "Mean", "the mean", []string{"_sparse_mean"},
			fold{f: func(acc, x float64) float64 { return acc + x }, i: add, mean: true},
			func(e expandParams, x, _, dy op.Entry) op.Entry {
				e.Mean = true
				return expand(e, dy, x)
			}},
		{Prod, "Prod", "the product", nil,
			fold{init: 1, initI: 1, f: func(acc, x float64) float64 { return acc * x }, i: times},
			func(e expandParams, x, y, dy op.Entry) op.Entry {
				return div(expand(e, mul(dy, y), x), x)
			}},
		{NanSum, "NanSum", "the sum, with NaN counting as zero and infinite sums as in Sum (NaN " +
			"in MXNet),", nil,
			fold{f: func(acc, x float64) float64 {
				if math.IsNaN(x) {
					return acc
				}
				return acc + x
			}, i: add},
			func(e expandParams, x, _, dy op.Entry) op.Entry {
				return mul(expand(e, dy, x), Equal.Apply(none, x, x)) // NaN differs from itself
			}},
		{NanProd, "NanProd", "the product, with NaN counting as one,", nil,
			fold{init: 1, initI: 1, f: func(acc, x float64) float64 {
				if math.IsNaN(x) {
					return acc
				}
				return acc * x
			}, i: times},
			func(e expandParams, x, y, dy op.Entry) op.Entry {
				slope := div(expand(e, mul(dy, y), x), x)
				return Where.Apply(none, Equal.Apply(none, x, x), slope, ZerosLike.Apply(none, x))
			}},
		{Max, "Max", "the largest element, NaN if there is one,", []string{"max_axis"},
			fold{init: math.Inf(-1), f: maxNaN, initI: math.MinInt64,
				i: func(acc, x int64) int64 { return max(acc, x) }}, extremum},
		{Min, "Min", "the smallest element, NaN if there is one,", []string{"min_axis"},
			fold{init: math.Inf(1), f: minNaN, initI: math.MaxInt64,
				i: func(acc, x int64) int64 { return min(acc, x) }}, extremum},
	}
}

// reduced tells which axes of an array are reduced.
func (p ReduceParams) reduced(rank int) ([]bool, error) {
	mask := make([]bool, rank)
	if len(p.Axis) == 0 {
		for i := range mask {
			mask[i] = true
		}
		return mask, nil
	}
	for _, a := range p.Axis {
		i, err := Axis("axis", a, rank)
		if err != nil {
			return nil, err
		}
		if mask[i] {
			return nil, op.Errorf("axis", "%v names axis %d twice", p.Axis, i)
		}
		mask[i] = true
	}
	if p.Exclude {
		for i := range mask {
			mask[i] = !mask[i]
		}
	}
	return mask, nil
}

// ReducedShape returns the shape that remains of s, with extents of one in place of the axes
// that mask names, or without them.
func ReducedShape(s dtype.Shape, mask []bool, keep bool) dtype.Shape {
	out := make(dtype.Shape, 0, len(s))
	for i, d := range s {
		switch {
		case !mask[i]:
			out = append(out, d)
		case keep:
			out = append(out, 1)
		}
	}
	if len(out) == 0 {
		out = append(out, 1)
	}
	return out
}

// inferReduce infers the output from the input, and extents of axes that stay from the output.
func inferReduce(p ReduceParams, in, out []dtype.Shape) error {
	if in[0] == nil {
		return nil
	}
	mask, err := p.reduced(len(in[0]))
	if err != nil {
		return err
	}
	if err := op.Require("output", &out[0], ReducedShape(in[0], mask, p.KeepDims)); err != nil {
		return err
	}
	k := 0
	for i := range in[0] {
		if !mask[i] {
			in[0][i] = out[0][k]
		}
		if !mask[i] || p.KeepDims {
			k++
		}
	}
	return nil
}

// inferExtremum is inferReduce for operators that have no result for no elements.
func inferExtremum(p ReduceParams, in, out []dtype.Shape) error {
	if err := inferReduce(p, in, out); err != nil {
		return err
	}
	if in[0].Known() && in[0].Size() == 0 && out[0].Size() > 0 {
		return op.Errorf("data", "shape %v, want at least one element along the reduced axes",
			in[0])
	}
	return nil
}

// spread returns the strides with which a result of shape s reduced by mask is read along s.
func spread(s dtype.Shape, mask []bool) []int {
	return loop.Broadcast(ReducedShape(s, mask, true), s)
}

func (f fold) run(p ReduceParams, out, in op.Tensor) error {
	mask, err := p.reduced(len(in.Shape))
	if err != nil {
		return err
	}
	n := out.Shape.Size()
	strides := [][]int{in.Shape.Strides(), spread(in.Shape, mask)}
	count := 1
	for i, d := range in.Shape {
		if mask[i] {
			count *= d
		}
	}
	if loop.Exact(in.DType) {
		acc := slices.Repeat([]int64{f.initI}, n)
		var x [loop.Block]int64
		loop.Walk(in.Shape, func(n int, off, step []int) {
			for i := 0; i < n; i += loop.Block {
				b := x[:min(loop.Block, n-i)]
				loop.LoadInt(b, in, off[0]+i*step[0], step[0])
				for k, v := range b {
					o := off[1] + (i+k)*step[1]
					acc[o] = f.i(acc[o], v)
				}
			}
		}, strides...)
		if f.mean {
			for k := range acc {
				acc[k] = divInt(acc[k], int64(count))
			}
		}
		loop.StoreInt(out, 0, acc)
		return nil
	}
	acc := slices.Repeat([]float64{f.init}, n)
	foldFloat(f, acc, in.Shape, in, strides)
	if f.mean {
		for k := range acc {
			acc[k] /= float64(count)
		}
	}
	loop.Store(out, 0, acc)
	return nil
}

func foldFloat(f fold, acc []float64, shape dtype.Shape, in op.Tensor, strides [][]int) {
	var x [loop.Block]float64
	loop.Walk(shape, func(n int, off, step []int) {
		for i := 0; i < n; i += loop.Block {
			b := x[:min(loop.Block, n-i)]
			loop.Load(b, in, off[0]+i*step[0], step[0])
			for k, v := range b {
				o := off[1] + (i+k)*step[1]
				acc[o] = f.f(acc[o], v)
			}
		}
	}, strides...)
}

func expandRef(p expandParams, c *op.Call) error {
	like, data, out := c.In[1].Shape, c.In[0], c.Out[0]
	mask, err := p.reduce().reduced(len(like))
	if err != nil {
		return err
	}
	src := loop.View{Tensor: data, Strides: spread(like, mask)}
	loop.Copy(like, loop.Dense(out), src)
	if p.Mean {
		count := float64(like.Size()) / float64(data.Shape.Size())
		loop.Map(loop.Func1{F: func(x float64) float64 { return x / count }}, out, out)
	}
	return nil
}
