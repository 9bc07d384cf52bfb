package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// RavelParams are the parameters of RavelMultiIndex and UnravelIndex.
type RavelParams struct {
	Shape []int `op:"shape,required" doc:"shape of the array that is indexed"`
}

// RavelMultiIndex and UnravelIndex convert between tuples of indices and places in memory.
var (
	RavelMultiIndex = op.Declare[RavelParams]("_ravel_multi_index")
	UnravelIndex    = op.Declare[RavelParams]("_unravel_index")
)

func init() {
	RavelMultiIndex.Define(op.Spec[RavelParams]{
		Traits: op.Traits{
			Doc: "RavelMultiIndex turns tuples of indices into an array of the given shape, " +
				"which lie along the first axis of data, into indices of the flattened array. " +
				"Indices are not checked.",
			Aliases: []string{"ravel_multi_index"},
		},
		Infer: func(p RavelParams, in, out []dtype.Shape) error {
			return inferRavel(p, &in[0], &out[0])
		},
		Grad: prim.ZeroGrad[RavelParams],
		Ref: func(p RavelParams, c *op.Call) error {
			ravel(p.Shape, c.In[0], c.Out[0])
			return nil
		},
	})
	UnravelIndex.Define(op.Spec[RavelParams]{
		Traits: op.Traits{
			Doc: "UnravelIndex turns indices of a flattened array into tuples of indices into an " +
				"array of the given shape, which lie along the first axis of the output. Indices " +
				"are not checked.",
			Aliases: []string{"unravel_index"},
		},
		Infer: func(p RavelParams, in, out []dtype.Shape) error {
			return inferRavel(p, &out[0], &in[0])
		},
		Grad: prim.ZeroGrad[RavelParams],
		Ref: func(p RavelParams, c *op.Call) error {
			list := loop.Ints(c.In[0])
			for k, at := range list {
				for a := len(p.Shape) - 1; a >= 0; a-- {
					i := at
					if d := int64(p.Shape[a]); a > 0 && d > 0 {
						i, at = at%d, at/d
					}
					loop.StoreInt(c.Out[0], a*len(list)+k, []int64{i})
				}
			}
			return nil
		},
	})
}

// ravel turns tuples into places. Fractions are cut off the sums, axis by axis, as in MXNet.
func ravel(shape []int, tuples, flat op.Tensor) {
	n := flat.Shape.Size()
	if !tuples.DType.IsFloat() {
		list := loop.Ints(tuples)
		for k := range n {
			at := int64(0)
			for a, d := range shape {
				at = at*int64(d) + list[a*n+k]
			}
			loop.StoreInt(flat, k, []int64{at})
		}
		return
	}
	list := loop.Floats(tuples)
	for k := range n {
		at := int64(0)
		for a, d := range shape {
			at = int64(float64(at*int64(d)) + list[a*n+k])
		}
		loop.StoreInt(flat, k, []int64{at})
	}
}

// inferRavel infers that tuples has the shape of flat and one more axis, the first.
func inferRavel(p RavelParams, tuples, flat *dtype.Shape) error {
	if *tuples != nil {
		if len(*tuples) < 2 {
			return op.Errorf("data", "shape %v, want a first axis of extent %d and at least one "+
				"more", *tuples, len(p.Shape))
		}
		if err := op.Require("data", flat, (*tuples)[1:]); err != nil {
			return err
		}
	}
	if *flat == nil {
		return nil
	}
	return op.Require("data", tuples, append(dtype.Shape{len(p.Shape)}, *flat...))
}
