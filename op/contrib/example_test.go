package contrib_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/contrib"
)

// Two steps of one sequence and one head of size 1: what each step asks for, and what it offers.
func ExampleSelfAttQK() {
	x := op.Var("queries_keys_values")
	scores := contrib.SelfAttQK.Apply(contrib.AttentionParams{Heads: 1}, x.Entry(0))
	out, err := optest.Eval([]op.Entry{scores}, map[*op.Node]op.Tensor{x: optest.F([]int{2, 1, 3}, 1, 10, 0, 2, 20, 0)})
	if err != nil {
		panic(err)
	}
	fmt.Println(out[0].Shape, op.Slice[float32](out[0]))
	// Output: (1, 2, 2) [10 20 20 40]
}
