package index

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// ArgParams are the parameters of ArgMax and ArgMin.
type ArgParams struct {
	Axis     op.Opt[int] `op:"axis" doc:"axis to search; None: the flattened array"`
	KeepDims bool        `op:"keepdims" doc:"keep the axis with extent one"`
}

// The operators that find the position of an extreme element.
var (
	ArgMax        = op.Declare[ArgParams]("argmax")
	ArgMin        = op.Declare[ArgParams]("argmin")
	ArgMaxChannel = op.Declare[op.NoParams]("argmax_channel")
)

func init() {
	larger := func(x, best float64) bool { return x > best || math.IsNaN(x) && !math.IsNaN(best) }
	smaller := func(x, best float64) bool { return x < best || math.IsNaN(x) && !math.IsNaN(best) }
	ArgMax.Define(arg("ArgMax is the index of the largest element along an axis, of the first "+
		"one among equals.", "ArgMax", larger))
	ArgMin.Define(arg("ArgMin is the index of the smallest element along an axis, of the first "+
		"one among equals.", "ArgMin", smaller))
	ArgMaxChannel.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:    "ArgMaxChannel is the index of the largest element along axis 1, the channels.",
			GoName: "ArgMaxChannel",
		},
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			return inferArg(channel(), in, out)
		},
		Grad: prim.ZeroGrad[op.NoParams],
		Ref:  func(_ op.NoParams, c *op.Call) error { return search(channel(), c, larger) },
	})
}

// channel are the parameters of ArgMax that ArgMaxChannel stands for.
func channel() ArgParams { return ArgParams{Axis: op.Some(1)} }

func arg(doc, goName string, better func(x, best float64) bool) op.Spec[ArgParams] {
	return op.Spec[ArgParams]{
		Traits: op.Traits{
			Doc: doc + " The indices have the element type of data. An axis without elements is " +
				"an error.",
			GoName: goName,
		},
		Infer: inferArg,
		Grad:  prim.ZeroGrad[ArgParams],
		Ref:   func(p ArgParams, c *op.Call) error { return search(p, c, better) },
	}
}

func inferArg(p ArgParams, in, out []dtype.Shape) error {
	if in[0] == nil {
		return nil
	}
	mask, err := PickParams{Axis: p.Axis}.mask(len(in[0]))
	if err != nil {
		return err
	}
	return link(in[0], mask, "output", &out[0], p.KeepDims)
}

// search writes the index of the best element of every vector.
func search(p ArgParams, c *op.Call, better func(x, best float64) bool) error {
	v, err := vectors(p.Axis, c.In[0].Shape)
	if err != nil {
		return err
	}
	x := loop.Floats(c.In[0])
	if v.n == 0 && v.count > 0 {
		return op.Errorf("data", "shape %v, want elements along the axis", c.In[0].Shape)
	}
	for k := range v.count {
		at, best := v.first(k), 0
		for i := range v.n {
			if better(x[at+i*v.step], x[at+best*v.step]) {
				best = i
			}
		}
		loop.StoreInt(c.Out[0], k, []int64{int64(best)})
	}
	return nil
}

// lanes are the vectors along an axis: count of them, each of n elements, step apart.
type lanes struct{ count, n, step int }

// vectors returns the vectors along an axis; without one the whole array is one vector.
func vectors(axis op.Opt[int], s dtype.Shape) (lanes, error) {
	a, ok := axis.Get()
	if !ok {
		return lanes{1, s.Size(), 1}, nil
	}
	a, err := prim.Axis("axis", a, len(s))
	if err != nil {
		return lanes{}, err
	}
	inner := s[a+1:].Size()
	return lanes{s[:a].Size() * inner, s[a], inner}, nil
}

// first returns the offset of the first element of vector k.
func (v lanes) first(k int) int { return k/v.step*v.step*v.n + k%v.step }
