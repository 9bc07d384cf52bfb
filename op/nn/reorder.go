package nn

import (
	"gomx/op"
	"gomx/op/loop"
)

// Reorder copies an array into the layout that its kernel is prepared for. Only executors make it.
var Reorder = op.Declare[op.NoParams]("_reorder")

func init() {
	Reorder.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Derived: true, Layouts: true,
			NoGrad: "it exists in inference only", Moves: true},
		Infer: op.SameShape[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			return nil
		},
	})
}
