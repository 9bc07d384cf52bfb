package prim

import "gomx/op"

// CrossDeviceCopy copies an array from one device to another. Placing a graph on several devices
// inserts it where they meet; executors run it as a copy between the memories of the two.
var CrossDeviceCopy = op.Declare[op.NoParams]("_CrossDeviceCopy")

func init() {
	CrossDeviceCopy.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:    "CrossDeviceCopy copies its input to the device on which it is read.",
			Hidden: true,
		},
		Infer: op.SameShape[op.NoParams],
		Grad:  passGrad[op.NoParams],
		Ref:   move[op.NoParams],
	})
}
