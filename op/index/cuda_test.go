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
	// Many terms, so that groups cross the ends of threads and of tiles, more than once; and rows of
	// one element, of more elements than a block has columns, and of indices out of range.
	for _, c := range []struct{ terms, rows, width int }{{700, 3, 40}, {9000, 2, 33}, {5000, 7, 1},
		{4096, 4000, 3}, {2048, 1, 16}, {300, 2, 70}} {
		optest.Run(t, index.Take.Op, optest.Case{NoDiff: true, Const: []int{1},
			In: []op.Tensor{optest.Random(7, -1, 1, c.rows, c.width),
				few(dtype.Int32, uint64(c.terms), float64(c.rows+1), c.terms)}})
	}
	x := optest.Random(8, -1, 1, 3, 2, 5)
	optest.Run(t, index.Take.Op, optest.Case{Params: index.TakeParams{Axis: 1, Mode: "wrap"},
		NoDiff: true, Const: []int{1}, In: []op.Tensor{x, few(dtype.Int32, 9, 4, 1000)}})
	optest.Run(t, index.GatherND.Op, optest.Case{In: []op.Tensor{optest.Random(4, -1, 1, 4, 5, 3),
		few(dtype.Int32, 5, 4, 2, 300)}, Const: []int{1}, NoDiff: true})
	optest.Run(t, index.ScatterND.Op, optest.Case{Params: index.ScatterNDParams{Shape: []int{4, 5,
		3}}, NoDiff: true,
		In:    []op.Tensor{optest.Random(6, -1, 1, 300, 3), few(dtype.Int32, 5, 4, 2, 300)},
		Const: []int{1}})
}
