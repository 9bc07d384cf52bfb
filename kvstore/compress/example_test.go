package compress_test

import (
	"fmt"

	"gomx/kvstore/compress"
)

func ExampleMethod_Append() {
	m := compress.Method{Kind: compress.TwoBit, Threshold: 1}
	residual := make([]float32, 4)
	sum := make([]float32, 4)
	for range 3 {
		payload, err := m.Append(nil, []float32{0.5, 2, -1, 0}, residual)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := compress.Add(sum, m.Kind, payload); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("arrived:", sum, "left:", residual)
	// Output: arrived: [1 3 -3 0] left: [0.5 3 0 0]
}
