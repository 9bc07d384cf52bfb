package initializer_test

import (
	"fmt"

	"gomx/dtype"
	"gomx/initializer"
)

func ExampleFill() {
	bias := make([]float32, 3)
	err := initializer.Fill(initializer.Xavier{}, initializer.Desc{Name: "fc1_bias",
		Shape: dtype.Shape{3}}, bias)
	fmt.Println(bias, err)
	weight := make([]float32, 2)
	err = initializer.Fill(initializer.Xavier{}, initializer.Desc{Name: "fc1_weight",
		Shape: dtype.Shape{2}}, weight)
	fmt.Println(err)
	// Output:
	// [0 0 0] <nil>
	// initializer: fc1_weight: xavier: shape (2,), want at least 2 axes
}

func ExampleParse() {
	init, err := initializer.Parse(`["xavier", {"rnd_type": "gaussian", "factor_type": "in", "magnitude": 2}]`)
	fmt.Printf("%+v %v\n", init, err)
	// Output: {RndType:gaussian FactorType:in Magnitude:2} <nil>
}
