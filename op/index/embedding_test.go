package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func TestEmbedding(t *testing.T) {
	w := optest.F([]int{3, 2}, 1, 2, 3, 4, 5, 6)
	p := index.EmbeddingParams{InputDim: 3, OutputDim: 2}
	optest.Run(t, index.Embedding.Op, optest.Case{Name: "vector", Params: p, Const: []int{0},
		In:   optest.Ops(ids(dtype.Float32, []int{3}, 2, 0, 2), w),
		Want: optest.Ops(optest.F([]int{3, 2}, 5, 6, 1, 2, 5, 6))},
		optest.Case{Name: "matrix", Params: p, In: optest.Ops(ids(dtype.Int32, []int{2, 1}, 1, 0),
			w), Want: optest.Ops(optest.F([]int{2, 1, 2}, 3, 4, 1, 2))},
		optest.Case{Name: "clipped", Params: p, In: optest.Ops(ids(dtype.Int64, []int{2}, -5, 9),
			w), Want: optest.Ops(optest.F([]int{2, 2}, 1, 2, 5, 6))},
		optest.Case{Name: "repeated rows add up", Params: p,
			In:       optest.Ops(ids(dtype.Int64, []int{3}, 1, 1, 0), w),
			Heads:    optest.Ops(optest.F([]int{3, 2}, 1, 2, 10, 20, 5, 5)),
			WantGrad: optest.Ops(op.Tensor{}, optest.F([]int{3, 2}, 5, 5, 11, 22, 0, 0)),
			NoDiff:   true},
		optest.Case{Name: "none", Params: p, In: optest.Ops(ids(dtype.Int32, []int{0}, 0), w)})
}

func TestEmbeddingInfersWeight(t *testing.T) {
	in, out := []dtype.Shape{nil, nil}, []dtype.Shape{{4, -1}}
	err := index.Embedding.InferShape(index.EmbeddingParams{InputDim: 7, OutputDim: 3}, in, out)
	if err != nil || !in[0].Equal(dtype.Shape{4}) || !in[1].Equal(dtype.Shape{7, 3}) {
		t.Errorf("got %v, %v, want (4,) and (7, 3)", in, err)
	}
	types, outTypes := []dtype.Type{dtype.Int32, dtype.Unknown}, []dtype.Type{dtype.Unknown}
	if err := index.Embedding.InferType(index.EmbeddingParams{DType: dtype.Float16}, types,
		outTypes); err != nil || types[1] != dtype.Float16 {
		t.Errorf("got %v, %v, want float16", types, err)
	}
}
