package update

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// ResetArraysParams configures ResetArrays.
type ResetArraysParams struct {
	NumArrays int `op:"num_arrays,auto" max:"16384" doc:"number of inputs"`
}

// ResetArrays sets many arrays to zero.
var ResetArrays = op.Declare[ResetArraysParams]("reset_arrays")

func init() {
	ResetArrays.Define(op.Spec[ResetArraysParams]{
		Traits: op.Traits{
			Doc: "ResetArrays (reset_arrays) sets all elements of its inputs to zero, in place. " +
				"It has no output.",
			Variadic: true,
			Multi:    true,
			Update:   true,
			NoGrad:   noGrad,
		},
		Inputs:  func(p ResetArraysParams) []op.Input { return arrays(p.NumArrays) },
		Outputs: func(ResetArraysParams) []string { return nil },
		Changes: func(p ResetArraysParams) []int {
			all := make([]int, p.NumArrays)
			for i := range all {
				all[i] = i
			}
			return all
		},
		Infer:     func(ResetArraysParams, []dtype.Shape, []dtype.Shape) error { return nil },
		InferType: func(ResetArraysParams, []dtype.Type, []dtype.Type) error { return nil },
		FLOPs:     func(ResetArraysParams, []dtype.Shape, []dtype.Shape) int64 { return 0 },
		Ref: func(_ ResetArraysParams, c *op.Call) error {
			for _, t := range c.In {
				loop.Clear(t)
			}
			return nil
		},
	})
}
