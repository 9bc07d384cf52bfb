package symbol_test

import (
	"os"
	"strings"
	"testing"

	"gomx/dtype"
	sym "gomx/symbol"
)

func ExamplePrintSummary() {
	net := sym.Var("data")
	net = sym.Convolution(net, sym.ConvolutionParams{Kernel: []int{3, 3}, NumFilter: 8},
		sym.Name("conv"))
	net = sym.BatchNorm(net, sym.BatchNormParams{}, sym.Name("bn")).At(0)
	net = sym.Relu(net, sym.Name("relu"))
	net = sym.FullyConnected(net, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	if err := sym.PrintSummary(os.Stdout, net,
		map[string]dtype.Shape{"data": {1, 3, 10, 10}}); err != nil {
		panic(err)
	}
	// Output:
	// layer  operator        output          parameters  FLOPs  after
	// data   (data)          (1, 3, 10, 10)  -           -      -
	// conv   Convolution     (1, 8, 8, 8)    224         28160  data
	// bn     BatchNorm       (1, 8, 8, 8)    16          1024   conv
	// relu   relu            (1, 8, 8, 8)    -           512    bn
	// fc     FullyConnected  (1, 10)         5130        10250  relu
	// 5370 parameters, 16 in states, 39946 FLOPs, 6248 bytes of results
}

func TestSummaryCountsSharedParametersOnce(t *testing.T) {
	w := sym.Var("w_weight")
	layer := func(x *sym.Symbol) *sym.Symbol {
		return sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 4, NoBias: true},
			sym.With("weight", w))
	}
	s, err := sym.Summarize(layer(layer(sym.Var("x"))), map[string]dtype.Shape{"x": {2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Parameters != 16 || s.FLOPs != 2*2*2*4*4 {
		t.Errorf("%d parameters and %d FLOPs, want 16 and 128", s.Parameters, s.FLOPs)
	}
}

func TestSummaryOfProductsAndWindows(t *testing.T) {
	x := sym.Var("x")
	for _, tt := range []struct {
		name  string
		s     *sym.Symbol
		shape dtype.Shape
		want  int64
	}{
		{"dot", sym.Dot(x, x, sym.DotParams{TransposeB: true}), dtype.Shape{3, 5}, 2 * 9 * 5},
		{"dot of the first", sym.Dot(x, x, sym.DotParams{TransposeA: true}), dtype.Shape{3, 5},
			2 * 25 * 3},
		{"batch_dot", sym.BatchDot(x, x, sym.DotParams{TransposeA: true}), dtype.Shape{7, 3, 5},
			2 * 7 * 25 * 3},
		{"pooling", sym.Pooling(x, sym.PoolingParams{Kernel: []int{2, 2}, Stride: []int{2, 2}}),
			dtype.Shape{1, 2, 4, 4}, 8 * 4},
		{"global pooling", sym.Pooling(x, sym.PoolingParams{GlobalPool: true}),
			dtype.Shape{1, 2, 4, 4}, 2 * 16},
		{"sum", sym.Sum(x, sym.ReduceParams{}), dtype.Shape{3, 5}, 15},
		{"transpose", sym.Transpose(x, sym.TransposeParams{}), dtype.Shape{3, 5}, 0},
		{"grouped convolution", sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3},
			NumFilter: 4, NumGroup: 2, NoBias: true}), dtype.Shape{1, 4, 5}, 2 * 12 * 6},
		{"transposed convolution", sym.Deconvolution(x, sym.DeconvolutionParams{Kernel: []int{3},
			NumFilter: 4}), dtype.Shape{1, 2, 5}, 2 * 10 * 12},
		{"recurrent layer", sym.RNN(x, sym.RNNParams{Mode: "rnn_tanh", StateSize: 4, NumLayers: 1}),
			dtype.Shape{5, 2, 3}, 2 * 10 * (4*3 + 4*4 + 2*4)},
		{"attention", sym.ContribInterleavedMatmulSelfattQk(x, sym.AttentionParams{Heads: 2}),
			dtype.Shape{5, 3, 24}, 2 * 6 * 5 * 5 * 4},
		{"product", sym.LinalgGemm2(x, x, sym.Gemm2Params{TransposeA: true}), dtype.Shape{7, 3, 5},
			2 * 7 * 25 * 3},
		{"square", sym.LinalgSyrk(x, sym.SyrkParams{Transpose: true}), dtype.Shape{7, 3, 5},
			2 * 7 * 25 * 3},
		{"lookup", sym.Take(x, sym.Var("i", sym.Shape(2)), sym.TakeParams{}), dtype.Shape{3, 5}, 0},
		{"norm", sym.Norm(x, sym.NormParams{}), dtype.Shape{3, 5}, 30},
		{"concat", sym.Concat([]*sym.Symbol{x, x}, sym.ConcatParams{Dim: sym.Some(1)}),
			dtype.Shape{3, 5}, 0},
	} {
		s, err := sym.Summarize(tt.s, map[string]dtype.Shape{"x": tt.shape})
		if err != nil {
			t.Fatal(err)
		}
		if s.FLOPs != tt.want {
			t.Errorf("%s: %d FLOPs, want %d", tt.name, s.FLOPs, tt.want)
		}
	}
	_, err := sym.Summarize(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 4}), nil)
	if err == nil || !strings.Contains(err.Error(), "weight") {
		t.Errorf("got %v, want an error about the weight", err)
	}
}
