//go:build cuda

package exec_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/nettest"
	sym "gomx/symbol"
)

// convolved makes a random network of convolutions, batch norms, pooling, sums and joins.
func convolved(rng *rand.Rand, layers int) *sym.Symbol {
	channels := []int{3, 5, 8, 16}
	values, widths := []*sym.Symbol{sym.Var("data")}, []int{3}
	for range layers {
		i := max(rng.IntN(len(values)), rng.IntN(len(values)))
		x, width := values[i], widths[i]
		conv := func(kernel, filters, groups int) *sym.Symbol {
			return sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
				Pad: []int{kernel / 2, kernel / 2}, NumFilter: filters, NumGroup: groups,
				NoBias: rng.IntN(2) == 0})
		}
		switch rng.IntN(9) {
		case 0:
			x = sym.Relu(x)
		case 1:
			x = sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true}).At(0)
		case 2:
			x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
				PoolType: []string{"max", "avg"}[rng.IntN(2)]})
		case 3:
			x = sym.ElemwiseAdd(x, sym.Sigmoid(conv(1, width, 1)))
		case 4:
			x, width = sym.Concat([]*sym.Symbol{x, conv(3, 8, 1), x}, sym.ConcatParams{}), 2*width+8
		case 5:
			x = conv(3, width, width)
		default:
			width = channels[rng.IntN(len(channels))]
			x = conv(1+2*rng.IntN(2), width, 1)
		}
		values, widths = append(values, x), append(widths, width)
	}
	x := values[len(values)-1]
	pooled := sym.Pooling(x, sym.PoolingParams{GlobalPool: true, PoolType: "avg"})
	return sym.Group(sym.FullyConnected(pooled, sym.FullyConnectedParams{NumHidden: 4}),
		sym.BroadcastMul(x, pooled), values[rng.IntN(len(values))])
}

// TestCUDALibraryLayouts compares steps of random networks with channels last and with plain
// arrays.
func TestCUDALibraryLayouts(t *testing.T) {
	needGPU(t)
	if err := cuda.DNN(); err != nil {
		t.Skip("layouts serve cuDNN: ", err)
	}
	laid := 0
	for seed, types := range [][]dtype.Type{{dtype.BFloat16}, {dtype.BFloat16, dtype.Float16},
		{dtype.BFloat16}, {dtype.Float16, dtype.Float32}, {dtype.BFloat16}, {dtype.Float16}} {
		seed := uint64(seed)
		for _, p := range types {
			t.Run(fmt.Sprintf("seed %d %v", seed, p), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 3))
				net := convolved(rng, 4+rng.IntN(8))
				got, turned := convolvedStep(t, net, p, rand.New(rand.NewPCG(seed, 4)))
				want, none := convolvedStep(t, net, p, rand.New(rand.NewPCG(seed, 4)), "layout")
				if p == dtype.Float32 && turned > 0 || none != 0 {
					t.Errorf("%d kernels change a layout, %d without layouts", turned, none)
				}
				laid += turned
				for _, key := range slices.Sorted(maps.Keys(want)) {
					close16(t, key, got[key], want[key])
				}
			})
		}
	}
	if laid == 0 {
		t.Error("no network has a layout")
	}
}

// close16 compares values that were computed with 16 bits in another order.
func close16(t *testing.T, what string, got, want []float32) {
	t.Helper()
	most := 0.0
	for _, v := range want {
		most = max(most, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 0.03*most+1e-6) {
			t.Fatalf("%s: element %d is %v, want %v; the largest is %v", what, i, got[i], want[i],
				most)
		}
	}
}

// convolvedStep makes a step and returns all values behind it, and how many operators change a
// layout.
func convolvedStep(t *testing.T, net *sym.Symbol, p dtype.Type, rng *rand.Rand, without ...string) (
	got map[string][]float32, turned int) {
	t.Helper()
	ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(0), Without: without, Precision: p,
		Shapes: map[string]dtype.Shape{"data": {2, 3, 5, 5}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	for _, a := range net.Arguments() {
		nettest.FillGently(t, rng, ex.Args[a])
	}
	before := cuda.Trace(0)
	nettest.Step(t, ex)
	e, err := ex.Explain(true)
	if err != nil {
		t.Fatal(err)
	}
	turned = e.Reorders + int(before()["fill.cast_turned"])
	got = stepValues(t, ex)
	return got, turned
}
