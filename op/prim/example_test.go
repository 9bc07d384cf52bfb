package prim_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

// Gradients are nodes: the derivative of tanh is built from its output.
func Example() {
	x := op.Var("x")
	y := prim.Tanh.Node(op.NoParams{}, x.Entry(0))
	one := prim.OnesLike.Apply(op.NoParams{}, y.Entry(0))
	grads, err := op.Gradient(y, []op.Entry{one}, []bool{true})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := optest.Eval([]op.Entry{y.Entry(0), grads[0]},
		map[*op.Node]op.Tensor{x: op.TensorOf([]float32{0, 1})})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f %.4f\n", op.Slice[float32](out[0]), op.Slice[float32](out[1]))
	// Output: [0.0000 0.7616] [1.0000 0.4200]
}
