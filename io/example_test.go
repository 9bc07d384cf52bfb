package io_test

import (
	"fmt"
	"os"
	"path/filepath"

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
	// [{data (2, 1) float32 default}] [{softmax_label (2,) float32 default}]
	// [0 10] padding: 0
	// [20 30] padding: 0
	// [40 0] padding: 1
}

func ExampleLibSVMIter() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "data.t")
	text := "1 0:0.5 2:1.2\n-2 # nothing stored\n-3 0:0.6 1:2.4\n4 2:-1.2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	train, err := dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: file,
		DataShape: nd.Shape{3}, BatchSize: 3}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer train.Close()
	for batch, err := range train.Epoch() {
		if err != nil {
			fmt.Println(err)
			return
		}
		labels, _ := batch.Label[0].Float32s()
		fmt.Println(batch.Data[0])
		fmt.Println(labels, "padding:", batch.Pad)
	}
	// Output:
	// (0, 0) 0.5
	// (0, 2) 1.2
	// (2, 0) 0.6
	// (2, 1) 2.4
	// <CSRNDArray 3x3 @cpu(0)>
	// [1 -2 -3] padding: 0
	// (0, 2) -1.2
	// (1, 0) 0.5
	// (1, 2) 1.2
	// <CSRNDArray 3x3 @cpu(0)>
	// [4 1 -2] padding: 2
}
