package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ShapeArray and SizeArray turn the shape of an array into an array.
var (
	ShapeArray = op.Declare[op.NoParams]("shape_array")
	SizeArray  = op.Declare[op.NoParams]("size_array")
)

// maxRank bounds the ranks that are read from extents.
const maxRank = 64

func init() {
	s := op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:     "ShapeArray is the shape of data, as a vector of int64.",
			Aliases: []string{"_npx_shape_array"},
			Ignores: []int{0},
		},
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			if len(out[0]) == 1 && out[0][0] > maxRank {
				return op.Errorf("output", "%d axes, want at most %d", out[0][0], maxRank)
			}
			if len(out[0]) == 1 && out[0][0] >= 0 && in[0] == nil {
				in[0] = unknown(out[0][0])
			}
			if in[0] == nil {
				return op.Require("output", &out[0], unknown(1))
			}
			return op.Require("output", &out[0], dtype.Shape{len(in[0])})
		},
		InferType: func(_ op.NoParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], dtype.Int64)
		},
		Grad: ZeroGrad[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			for i, d := range c.In[0].Shape {
				loop.StoreInt(c.Out[0], i, []int64{int64(d)})
			}
			return nil
		},
	}
	ShapeArray.Define(s)
	s.Doc, s.Aliases = "SizeArray is the number of elements of data, as an array of one int64.", nil
	s.Infer = func(_ op.NoParams, _, out []dtype.Shape) error {
		return op.Require("output", &out[0], dtype.Shape{1})
	}
	s.Ref = func(_ op.NoParams, c *op.Call) error {
		loop.StoreInt(c.Out[0], 0, []int64{int64(c.In[0].Shape.Size())})
		return nil
	}
	SizeArray.Define(s)
}
