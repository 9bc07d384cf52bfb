package index_test

import (
	"fmt"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func Example() {
	ids, weight := op.Var("ids"), op.Var("weight")
	rows := index.Embedding.Apply(index.EmbeddingParams{InputDim: 3, OutputDim: 2}, ids.Entry(0),
		weight.Entry(0))
	out, err := optest.Eval([]op.Entry{rows}, map[*op.Node]op.Tensor{
		ids:    op.TensorOf([]int32{2, 0}),
		weight: op.TensorOf([]float32{1, 2, 3, 4, 5, 6}, 3, 2),
	})
	fmt.Println(op.Slice[float32](out[0]), err)
	// Output: [5 6 1 2] <nil>
}
