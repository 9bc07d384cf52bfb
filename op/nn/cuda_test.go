//go:build cuda

package nn_test

import (
	"fmt"
	"testing"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
)

// TestCUDALongParts has more elements in a part than a block has threads.
func TestCUDALongParts(t *testing.T) {
	x := optest.Random(1, -1, 1, 2, 3, 19, 17)
	for _, mode := range []string{"instance", "spatial", "channel"} {
		optest.Run(t, nn.L2Normalization.Op,
			optest.Case{Params: nn.L2NormalizationParams{Mode: mode}, In: []op.Tensor{x},
				NoDiff: true})
	}
	optest.Run(t, nn.LeakyReLU.Op, optest.Case{Params: nn.LeakyReLUParams{ActType: "prelu"},
		In: []op.Tensor{x, optest.Random(2, 0, 1, 3)}, NoDiff: true})
}

// TestCUDALibraryDeclines pools numbers that the imitated cuDNN declines when it is asked, and
// normalizes over what it takes in one mode only.
func TestCUDALibraryDeclines(t *testing.T) {
	x := optest.New(dtype.BFloat16, 2, 3, 7, 5)
	loop.Generate(x, func(i int) float64 { return float64(i*37%101) / 8 })
	for _, kind := range []string{"max", "avg"} {
		p := nn.PoolingParams{Kernel: []int{3, 2}, Stride: []int{2, 1}, Pad: []int{1, 1},
			PoolType: kind}
		optest.Run(t, nn.Pooling.Op, optest.Case{Name: kind, Params: p, In: []op.Tensor{x},
			NoDiff: true})
	}
	rows, vector := optest.Random(1, -1, 1, 70000, 2),
		func(seed uint64) op.Tensor { return optest.Random(seed, 0.5, 1, 2) }
	optest.Run(t, nn.BatchNorm.Op, optest.Case{Name: "many rows", Train: true,
		Params: nn.BatchNormParams{NoFixGamma: true},
		In:     []op.Tensor{rows, vector(2), vector(3), vector(4), vector(5)}, Const: []int{3, 4},
		NoDiff: true})
}

// TestCUDAColumnsOfRows has layers whose parameters' gradients add columns, in one chunk and in
// several.
func TestCUDAColumnsOfRows(t *testing.T) {
	for _, shape := range [][]int{{3, 17}, {300, 40}, {7, 30, 65}} {
		n := shape[len(shape)-1]
		optest.Run(t, nn.LayerNorm.Op, optest.Case{In: []op.Tensor{
			optest.Random(1, -1, 1, shape...), optest.Random(2, 0.5, 1, n),
			optest.Random(3, -1, 1, n)}, NoDiff: true})
	}
}

// TestCUDABiasInProduct counts the products of dense layers that add biases or sum up their
// gradients. The imitated cuBLASLt declines the sums of a single row.
func TestCUDABiasInProduct(t *testing.T) {
	if err := cuda.BLAS(); err != nil {
		t.Skip("products are not counted: ", err)
	}
	for rows, want := range map[int]int64{1: 1, 7: 2} {
		run := func() {
			optest.Run(t, nn.FullyConnected.Op, optest.Case{Name: fmt.Sprint(rows, " rows"),
				Params: nn.FullyConnectedParams{NumHidden: 5}, NoDiff: true,
				In: []op.Tensor{optest.Random(1, -1, 1, rows, 3), optest.Random(2, -1, 1, 5, 3),
					optest.Random(3, -1, 1, 5)}})
		}
		run() // the device is in use from now on
		stop := cuda.Trace(0)
		run()
		names := stop()
		if got := names["gemm with bias"]; got < want || rows == 1 && names["reduce.sum_thread"] == 0 {
			t.Errorf("%d rows: %v, want at least %d products with a bias, and the sum of a single "+
				"row by itself", rows, names, want)
		}
	}
}

// TestCUDAAttentionOfTypes has vectors of one part and of several, in each type.
func TestCUDAAttentionOfTypes(t *testing.T) {
	tolerances := map[dtype.Type]optest.Tolerance{dtype.Float64: {Abs: 1e-12, Rel: 1e-10},
		dtype.Float16: {Abs: 2e-3, Rel: 4e-3}, dtype.BFloat16: {Abs: 2e-2, Rel: 2e-2}}
	for typ, tol := range tolerances {
		for _, size := range []int{5, 70, 150} {
			typed := func(seed uint64, shape ...int) op.Tensor {
				x := optest.New(typ, shape...)
				loop.Store(x, 0, loop.Floats(optest.Random(seed, -1, 1, shape...)))
				return x
			}
			n, p := 70, nn.ScaledAttentionParams{Heads: 2, KVHeads: 1, Causal: size < 100,
				Dropout: 0.2}
			optest.Run(t, nn.Attention.Op, optest.Case{Name: fmt.Sprint(typ, size), Params: p,
				In:     []op.Tensor{typed(1, 1, n, 2*size), typed(2, 1, n, size), typed(3, 1, n, size)},
				NoDiff: true, Train: true, Tol: tol})
		}
	}
}
