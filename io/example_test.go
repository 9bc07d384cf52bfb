package io_test

import (
	"fmt"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

func ExampleNDArrayIter() {
	train, err := dataio.NDArrayIter(dataio.NDArrayConfig{
		Data:      []*nd.Array{nd.FromSlice([]float32{0, 1, 2, 3, 4}, 5, 1)},
		Label:     []*nd.Array{nd.FromSlice([]float32{0, 10, 20, 30, 40})},
		BatchSize: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(train.ProvideData(), train.ProvideLabel())
	for batch, err := range train.Epoch() {
		if err != nil {
			fmt.Println(err)
			return
		}
		labels, _ := batch.Label[0].Float32s()
		fmt.Println(labels, "padding:", batch.Pad)
	}
	// Output:
	// [{data (2, 1) float32}] [{softmax_label (2,) float32}]
	// [0 10] padding: 0
	// [20 30] padding: 0
	// [40 0] padding: 1
}
