package metric_test

import (
	"fmt"

	"gomx/metric"
	nd "gomx/ndarray"
)

func ExampleComposite() {
	m := metric.Composite(metric.Accuracy(), metric.TopKAccuracy(2))
	label := nd.FromSlice([]float32{2, 0})
	pred := nd.FromSlice([]float32{0.1, 0.7, 0.2, 0.6, 0.3, 0.1}, 2, 3)
	if err := m.Update([]*nd.Array{label}, []*nd.Array{pred}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(m.Value())
	// Output: [accuracy top_k_accuracy_2] [0.5 1]
}
