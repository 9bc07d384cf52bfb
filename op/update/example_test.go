package update_test

import (
	"fmt"

	"gomx/device"
	"gomx/op"
	"gomx/op/update"
)

// One step of gradient descent, written over the weight.
func Example() {
	weight, grad := op.TensorOf([]float32{1, 2, 3}), op.TensorOf([]float32{10, 0, -10})
	p, err := update.SGDUpdate.Normalize(update.SGDUpdateParams{LR: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	args := &op.Args{In: []op.Desc{weight.Desc, grad.Desc}, Out: []op.Desc{weight.Desc}}
	k, err := update.SGDUpdate.Prepare(device.CPU(), device.TierRef, p, args)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := k.Run(&op.Call{In: []op.Tensor{weight, grad}, Out: []op.Tensor{weight}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(op.Slice[float32](weight))
	// Output: [0 2 4]
}
