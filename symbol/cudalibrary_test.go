//go:build cuda

package symbol_test

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
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

const rnnSteps = 24

// layered are networks of layers that cuDNN computes where it is there, each with the shape of its input.
func layered() map[string]struct {
	net *sym.Symbol
	x   dtype.Shape
} {
	type entry = struct {
		net *sym.Symbol
		x   dtype.Shape
	}
	x := sym.Var("x")
	images := sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true}, sym.Name("norm"))
	images = sym.Pooling(sym.Tanh(images), sym.PoolingParams{Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1}})
	images = sym.Pooling(sym.BatchNorm(images, sym.BatchNormParams{}, sym.Name("fixed")), sym.PoolingParams{Kernel: []int{2, 2}, PoolType: "avg"})
	list := map[string]entry{"images": {sym.SoftmaxActivation(images, sym.SoftmaxActivationParams{Mode: "channel"}), dtype.Shape{2, 3, 9, 7}}}
	for _, share := range []float64{0, 0.5} {
		p := sym.RNNParams{Mode: "lstm", StateSize: 5, NumLayers: 2, Bidirectional: true, P: share}
		list[fmt.Sprint("sequences, dropping ", share)] = entry{sym.Tanh(sym.RNN(x, p, sym.Name("rnn"))), dtype.Shape{rnnSteps, 2, 3}}
	}
	return list
}

// train runs forward and backward a few times and returns the output, all gradients and moving averages, and the launches of the last time.
func train(t *testing.T, net *sym.Symbol, x dtype.Shape, c sym.BindConfig) (got map[string][]float32, launches int64) {
	t.Helper()
	c.Shapes = map[string]dtype.Shape{"x": x}
	ex, err := net.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(4, 2))
	for _, name := range slices.Sorted(maps.Keys(ex.Args)) {
		a := ex.Args[name]
		values := make([]float32, a.Size())
		for i := range values {
			values[i] = rng.Float32() - 0.5
		}
		a.Set(nd.FromSlice(values, a.Shape()...).To(c.Device))
	}
	for range 6 {
		before := cuda.Launches(0)
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(); err != nil {
			t.Fatal(err)
		}
		if err := ex.Outputs()[0].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		launches = cuda.Launches(0) - before
	}
	got = map[string][]float32{}
	for what, list := range map[string]map[string]*nd.Array{"gradient of ": ex.Grads, "average ": ex.Aux, "": {"output": ex.Outputs()[0]}} {
		for name, a := range list {
			if got[what+name], err = a.Float32s(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return got, launches
}

// TestCUDALibrary trains networks in cuDNN, or in kernels of our own where it is not there, and on the processor: what is dropped is the same, and what comes
// out is nearly.
func TestCUDALibrary(t *testing.T) {
	needGPU(t)
	for name, n := range layered() {
		t.Run(name, func(t *testing.T) {
			want, _ := train(t, n.net, n.x, sym.BindConfig{})
			got, launches := train(t, n.net, n.x, sym.BindConfig{Device: device.CUDA(0), Guard: true})
			if again, _ := train(t, n.net, n.x, sym.BindConfig{Device: device.CUDA(0), Replay: true}); fmt.Sprint(again) != fmt.Sprint(got) {
				t.Error("recordings change the bits")
			}
			if len(want) < 4 {
				t.Fatalf("%d arrays are compared, want more", len(want))
			}
			for array, w := range want {
				for i, v := range got[array] {
					if !(math.Abs(float64(v-w[i])) <= 2e-4*(1+math.Abs(float64(w[i])))) {
						t.Errorf("%s: number %d is %v, want %v", array, i, v, w[i])
						break
					}
				}
			}
			if n.x[0] == rnnSteps && cuda.DNN() == nil && len(cuda.DNNMissing()) == 0 && launches > 2*rnnSteps {
				t.Errorf("%d launches for %d steps: the layers do not run in cuDNN", launches, rnnSteps)
			}
		})
	}
}
