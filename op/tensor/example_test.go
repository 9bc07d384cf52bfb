package tensor_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/tensor"
)

func Example() {
	x := op.Var("x")
	y := tensor.CumSum.Apply(tensor.CumSumParams{}, x.Entry(0))
	out, err := optest.Eval([]op.Entry{y},
		map[*op.Node]op.Tensor{x: op.TensorOf([]float32{1, 2, 3})})
	fmt.Println(op.Slice[float32](out[0]), err)
	// Output: [1 3 6] <nil>
}
