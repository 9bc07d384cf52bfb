package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// OneHotParams are the parameters of OneHot.
type OneHotParams struct {
	Depth    int             `op:"depth,required" min:"0" doc:"extent of the new axis"`
	OnValue  op.Opt[float64] `op:"on_value" default:"1" doc:"value at the index"`
	OffValue float64         `op:"off_value" doc:"value elsewhere"`
	DType    dtype.Type      `op:"dtype" doc:"element type of the output"`
}

// OneHot turns indices into vectors.
var OneHot = op.Declare[OneHotParams]("one_hot")

func init() {
	OneHot.Define(op.Spec[OneHotParams]{
		Traits: op.Traits{
			Doc: "OneHot replaces every index by a vector of the given depth that is on_value at " +
				"the index and off_value elsewhere; everywhere for an index out of range.",
			Aliases: []string{"_npx_one_hot"},
			Moves:   true,
		},
		Inputs: prim.Inputs[OneHotParams]("indices"),
		Infer:  inferOneHot,
		InferType: func(p OneHotParams, _, out []dtype.Type) error {
			return setType("output", &out[0], p.DType)
		},
		Grad: prim.ZeroGrad[OneHotParams],
		Ref: func(p OneHotParams, c *op.Call) error {
			loop.Fill(c.Out[0], p.OffValue)
			for i, at := range loop.Ints(c.In[0]) {
				if at >= 0 && at < int64(p.Depth) {
					loop.Store(c.Out[0], i*p.Depth+int(at), []float64{p.OnValue.Value()})
				}
			}
			return nil
		},
	})
}

func inferOneHot(p OneHotParams, in, out []dtype.Shape) error {
	if out[0] != nil {
		last := len(out[0]) - 1
		if last < 0 || out[0][last] != -1 && out[0][last] != p.Depth {
			return op.Errorf("output", "shape %v, want a last axis of extent %d", out[0], p.Depth)
		}
		if err := op.Require("indices", &in[0], out[0][:last]); err != nil {
			return err
		}
	}
	if in[0] == nil {
		return nil
	}
	return op.Require("output", &out[0], append(in[0].Clone(), p.Depth))
}
