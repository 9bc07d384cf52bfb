package loss_test

import (
	"fmt"

	"gomx/dtype"
	"gomx/op/loss"
)

// The shape of a label follows from that of data.
func Example() {
	p, err := loss.SoftmaxOutput.Normalize(loss.SoftmaxOutputParams{})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, out := []dtype.Shape{{64, 10}, nil}, make([]dtype.Shape, 1)
	if err := loss.SoftmaxOutput.InferShape(p, in, out); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("label", in[1])
	in[1] = dtype.Shape{10}
	fmt.Println(loss.SoftmaxOutput.InferShape(p, in, out))
	// Output:
	// label (64,)
	// label: shape (10,), want (64,) for data of shape (64, 10)
}
