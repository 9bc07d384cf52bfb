package random_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/random"
)

// The same seed draws the same numbers.
func Example() {
	z := random.Normal.Apply(random.NormalParams{Shape: []int{2}})
	run := optest.Runner{Seed: op.Seed{Key: 7}}
	a, err := run.Eval([]op.Entry{z}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := run.Eval([]op.Entry{z}, nil)
	fmt.Println(op.Slice[float32](a[0])[0] == op.Slice[float32](b[0])[0], err)
	// Output: true <nil>
}
