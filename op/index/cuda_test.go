//go:build cuda

package index_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/loop"
)

// few makes an array of few different numbers, so that many are equal.
func few(t dtype.Type, seed uint64, kinds float64, shape ...int) op.Tensor {
	x := optest.Random(seed, 0, kinds, shape...)
	y := optest.New(t, shape...)
	v := loop.Floats(x)
	for i := range v {
		v[i] = float64(int(v[i]))
	}
	loop.Store(y, 0, v)
	return y
}

// TestCUDASorted sorts more than one thread does, with equal elements, whose order stays.
func TestCUDASorted(t *testing.T) {
	x := few(dtype.Float32, 1, 40, 3, 333, 2)
	optest.Run(t, index.ArgSort.Op, optest.Case{Params: index.ArgSortParams{Axis: op.Some(1),
		DType: dtype.Int32}, In: []op.Tensor{x}, NoDiff: true},
		optest.Case{Params: index.ArgSortParams{Axis: op.Some(1), Descend: true,
			DType: dtype.Float32}, In: []op.Tensor{x}, NoDiff: true})
	optest.Run(t, index.TopK.Op, optest.Case{Params: index.TopKParams{Axis: op.Opt[int]{},
		K: op.Some(77), RetTyp: "both"}, In: []op.Tensor{x}, NoDiff: true})
}

// TestCUDAGroups looks the same rows up again and again: their gradients are sums of many terms.
func TestCUDAGroups(t *testing.T) {
	ids := few(dtype.Int32, 2, 9, 20, 15)
	optest.Run(t, index.Embedding.Op, optest.Case{Params: index.EmbeddingParams{InputDim: 11,
		OutputDim: 5}, NoDiff: true,
		In: []op.Tensor{ids, optest.Random(3, -1, 1, 11, 5)}, Const: []int{0}})
	optest.Run(t, index.GatherND.Op, optest.Case{In: []op.Tensor{optest.Random(4, -1, 1, 4, 5, 3),
		few(dtype.Int32, 5, 4, 2, 300)}, Const: []int{1}, NoDiff: true})
	optest.Run(t, index.ScatterND.Op, optest.Case{Params: index.ScatterNDParams{Shape: []int{4, 5,
		3}}, NoDiff: true,
		In:    []op.Tensor{optest.Random(6, -1, 1, 300, 3), few(dtype.Int32, 5, 4, 2, 300)},
		Const: []int{1}})
}
