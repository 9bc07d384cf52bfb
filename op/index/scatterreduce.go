package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// ScatterReduceParams are the parameters of ScatterReduceND.
type ScatterReduceParams struct {
	Reduction string `op:"reduction" default:"set" enum:"set|add|mul|max|min" doc:"how an update and the element at its place become the new element"`
}

// ScatterReduceND and its gradient.
var (
	ScatterReduceND   = op.Declare[ScatterReduceParams]("ScatterReduceND")
	scatterReduceGrad = op.Declare[ScatterReduceParams]("_backward_ScatterReduceND")
)

func init() {
	ScatterReduceND.Define(op.Spec[ScatterReduceParams]{
		Traits: op.Traits{
			Doc: `ScatterReduceND joins updates with the elements of data at the places that indices names as
in GatherND. Updates for one place are taken in their order; with set the last one stays.

The gradient of max and min goes to one element: data, or the first update that has the value.`,
			Once:    "it jumps where elements are equal, and products have quotients",
			Inplace: [][2]int{{0, 0}},
		},
		Inputs: prim.Inputs[ScatterReduceParams]("data", "indices", "updates"),
		Infer: func(p ScatterReduceParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			return inferGather(op.NoParams{}, in[:2], in[2:])
		},
		InferType: func(p ScatterReduceParams, in, out []dtype.Type) error {
			return scatterTypes(&in[0], &in[2], &out[0])
		},
		Grad: func(g *op.Grad, p ScatterReduceParams) []op.Entry {
			list := g.Each(scatterReduceGrad.Node(p, g.Head(0), g.In(0), g.In(1), g.In(2)))
			return []op.Entry{list[0], {}, list[1]}
		},
		Ref: scatterReduce,
	})
	scatterReduceGrad.Define(op.Spec[ScatterReduceParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of ScatterReduceND is not " +
			"provided"},
		Inputs:  prim.Inputs[ScatterReduceParams]("grad", "data", "indices", "updates"),
		Outputs: func(ScatterReduceParams) []string { return []string{"data_grad", "updates_grad"} },
		Infer: func(p ScatterReduceParams, in, out []dtype.Shape) error {
			if err := op.Same("grad", &in[0], &in[1]); err != nil {
				return err
			}
			if err := op.Same("data_grad", &out[0], &in[1]); err != nil {
				return err
			}
			if err := inferGather(op.NoParams{}, in[1:3], in[3:]); err != nil {
				return err
			}
			return op.Same("updates_grad", &out[1], &in[3])
		},
		InferType: func(p ScatterReduceParams, in, out []dtype.Type) error {
			return scatterTypes(&in[0], &in[1], &in[3], &out[0], &out[1])
		},
		Ref: scatterReduceBack,
	})
}

// scatterTypes gives data, updates and outputs one element type. The type of the indices is free.
func scatterTypes(same ...*dtype.Type) error {
	var all []dtype.Type
	for _, t := range same {
		all = append(all, *t)
	}
	if err := op.SameType(op.NoParams{}, all, nil); err != nil {
		return err
	}
	for i, t := range same {
		*t = all[i]
	}
	return nil
}

// joined makes the function of an element and an update. max and min pass NaN on.
func joined[T float64 | int64](reduction string, unsigned bool) func(a, b T) T {
	if unsigned && (reduction == "max" || reduction == "min") {
		return func(a, b T) T {
			if (uint64(a) > uint64(b)) == (reduction == "max") {
				return a
			}
			return b
		}
	}
	switch reduction {
	case "add":
		return func(a, b T) T { return a + b }
	case "mul":
		return func(a, b T) T { return a * b }
	case "max":
		return func(a, b T) T { return max(a, b) }
	case "min":
		return func(a, b T) T { return min(a, b) }
	}
	return func(_, b T) T { return b }
}

func scatterReduce(p ScatterReduceParams, c *op.Call) error {
	if loop.Exact(c.In[0].DType) {
		x, err := scattered(p, c, loop.Ints(c.In[0]), loop.Ints(c.In[2]))
		loop.StoreInt(c.Out[0], 0, x)
		return err
	}
	x, err := scattered(p, c, loop.Floats(c.In[0]), loop.Floats(c.In[2]))
	loop.Store(c.Out[0], 0, x)
	return err
}

// scattered joins the updates with x, in place.
func scattered[T float64 | int64](p ScatterReduceParams, c *op.Call, x, updates []T) ([]T, error) {
	join := joined[T](p.Reduction, c.In[0].DType == dtype.Uint64)
	err := tuples(c.In[0].Shape, c.In[1], func(at, k, n int) {
		for i := range n {
			x[at+i] = join(x[at+i], updates[k+i])
		}
	})
	return x, err
}

// scatterReduceBack lists the updates of every place, then gives each its share of the gradient.
func scatterReduceBack(p ScatterReduceParams, c *op.Call) error {
	grad, data, updates := loop.Floats(c.In[0]), loop.Floats(c.In[1]), loop.Floats(c.In[3])
	places := map[int][]int{}
	err := tuples(c.In[1].Shape, c.In[2], func(at, k, n int) {
		for i := range n {
			places[at+i] = append(places[at+i], k+i)
		}
	})
	if err != nil {
		return err
	}
	dData, dUpdates := grad, make([]float64, len(updates))
	for at, list := range places {
		terms := []float64{data[at]}
		for _, k := range list {
			terms = append(terms, updates[k])
		}
		share := shares(p.Reduction, terms)
		for i, k := range list {
			dUpdates[k] = share[i+1] * grad[at]
		}
		dData[at] *= share[0]
	}
	loop.Store(c.Out[0], 0, dData)
	loop.Store(c.Out[1], 0, dUpdates)
	return nil
}

// shares returns the derivatives of the join of terms by each of them.
func shares(reduction string, terms []float64) []float64 {
	d := make([]float64, len(terms))
	switch reduction {
	case "add":
		for i := range d {
			d[i] = 1
		}
	case "mul":
		before, after := 1.0, 1.0
		for i, x := range terms {
			d[i] = before
			before *= x
		}
		for i := len(terms) - 1; i >= 0; i-- {
			d[i] *= after
			after *= terms[i]
		}
	case "max", "min":
		best := 0
		for i, x := range terms {
			if reduction == "max" && x > terms[best] || reduction == "min" && x < terms[best] {
				best = i
			}
		}
		d[best] = 1
	default:
		d[len(d)-1] = 1
	}
	return d
}
