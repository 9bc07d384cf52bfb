package nn_test

import (
	"fmt"

	"gomx/dtype"
	"gomx/op/nn"
)

// Inference fills in the shapes of weights from the shape of data.
func Example() {
	p, err := nn.Convolution.ParseParams(map[string]string{"kernel": "(5, 5)", "num_filter": "20"})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := []dtype.Shape{{64, 1, 28, 28}, nil, nil}
	out := make([]dtype.Shape, 1)
	if err := nn.Convolution.InferShape(p, in, out); err != nil {
		fmt.Println(err)
		return
	}
	for i, input := range nn.Convolution.Inputs(p) {
		fmt.Println(input.Name, in[i])
	}
	fmt.Println("output", out[0])
	// Output:
	// data (64, 1, 28, 28)
	// weight (20, 1, 5, 5)
	// bias (20,)
	// output (64, 20, 24, 24)
}
