package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ClipParams are the parameters of Clip.
type ClipParams struct {
	AMin float64 `op:"a_min,required" doc:"lower bound"`
	AMax float64 `op:"a_max,required" doc:"upper bound"`
}

// Clip limits elements to a range.
var Clip = op.Declare[ClipParams]("clip")

// clipMask is one where Clip passes its input on, zero elsewhere.
var clipMask = op.Declare[ClipParams]("_clip_mask")

func init() {
	Clip.Define(op.Spec[ClipParams]{
		Traits: op.Traits{
			Doc: "Clip limits elements to the range from a_min to a_max; NaN stays. The gradient " +
				"flows where an element lies within the range, its ends included, and where it " +
				"is NaN. A range with a_min above a_max is an error.",
			Aliases:   []string{"_npi_clip", "_sparse_clip"},
			Inplace:   [][2]int{{0, 0}},
			Pointwise: true,
		},
		Infer: func(p ClipParams, in, out []dtype.Shape) error {
			if p.AMin > p.AMax {
				return op.Errorf("a_max", "%v, less than a_min %v", p.AMax, p.AMin)
			}
			return op.SameShape(p, in, out)
		},
		Grad: func(g *op.Grad, p ClipParams) []op.Entry {
			return []op.Entry{mul(g.Head(0), clipMask.Apply(p, g.In(0)))}
		},
		Ref: clipRef,
		Storage: func(p ClipParams, in []op.Storage) ([]op.Storage, bool) {
			return in[:1], in[0] == op.Dense || p.AMin <= 0 && 0 <= p.AMax
		},
		Sparse: func(p ClipParams, c *op.Call) error {
			return loop.MapStored(clipFunc(p, c.In[0].DType), c)
		},
	})
	clipMask.Define(op.Spec[ClipParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Infer:  op.SameShape[ClipParams],
		Grad:   ZeroGrad[ClipParams],
		Ref: func(p ClipParams, c *op.Call) error {
			lo, hi := round(c.In[0].DType, p.AMin), round(c.In[0].DType, p.AMax)
			loop.Map(loop.Func1{F: func(x float64) float64 {
				return bit[float64](!(x < lo || x > hi))
			}}, c.Out[0], c.In[0])
			return nil
		},
	})
}

func clipRef(p ClipParams, c *op.Call) error {
	loop.Map(clipFunc(p, c.In[0].DType), c.Out[0], c.In[0])
	return nil
}

// clipFunc is the function of one element of type t.
func clipFunc(p ClipParams, t dtype.Type) loop.Func1 {
	lo, hi := round(t, p.AMin), round(t, p.AMax)
	return loop.Func1{F: func(x float64) float64 {
		switch {
		case x > hi:
			return hi
		case x < lo:
			return lo
		}
		return x
	}, I: func(x int64) int64 { return max(int64(lo), min(x, int64(hi))) }}
}
