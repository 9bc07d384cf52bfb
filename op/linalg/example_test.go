package linalg_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/linalg"
)

// A symmetric, positive definite system is solved with the factor of its matrix.
func ExampleTrsm() {
	a, b := op.Var("a"), op.Var("b")
	l := linalg.Potrf.Apply(linalg.CholeskyParams{}, a.Entry(0))
	x := linalg.Trsm.Apply(linalg.TriangularParams{}, l, b.Entry(0))
	x = linalg.Trsm.Apply(linalg.TriangularParams{Transpose: true}, l, x)
	out, err := optest.Eval([]op.Entry{x}, map[*op.Node]op.Tensor{
		a: optest.F([]int{2, 2}, 4, 2, 2, 10),
		b: optest.F([]int{2, 1}, 8, 22),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(op.Slice[float32](out[0]))
	// Output: [1 2]
}
