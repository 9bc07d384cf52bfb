//go:build cuda

package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

// TestCUDASparesBias compares steps of layers in front of batch norms with and without the pass that
// takes their biases: results, gradients and moving averages.
func TestCUDASparesBias(t *testing.T) {
	needGPU(t)
	conv := func(s *sym.Symbol) *sym.Symbol {
		return sym.Convolution(s, sym.ConvolutionParams{Kernel: []int{3, 3}, NumFilter: 4})
	}
	norm := func(s *sym.Symbol, p sym.BatchNormParams) *sym.Symbol {
		p.NoFixGamma = true
		return sym.BatchNorm(s, p)
	}
	x := sym.Var("data")
	shared := conv(x)
	for name, c := range map[string]struct {
		net  *sym.Symbol
		want int // layers that lose their bias
	}{
		"two layers": {norm(sym.FullyConnected(sym.Relu(norm(conv(x), sym.BatchNormParams{})),
			sym.FullyConnectedParams{NumHidden: 5}), sym.BatchNormParams{}), 2},
		"all averages":  {norm(conv(x), sym.BatchNormParams{UseGlobalStats: true}), 0},
		"other axis":    {norm(conv(x), sym.BatchNormParams{Axis: op.Some(2)}), 0},
		"also read":     {sym.Group(norm(shared, sym.BatchNormParams{}), sym.BlockGrad(shared)), 0},
		"no batch norm": {sym.Relu(conv(x)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, spared := sparedStep(t, c.net)
			want, none := sparedStep(t, c.net, "spare-bias")
			if spared != c.want || none != 0 {
				t.Errorf("%d layers lose their bias, without the pass %d, want %d and 0", spared, none,
					c.want)
			}
			for key, w := range want {
				for i := range w {
					if d := math.Abs(float64(got[key][i] - w[i])); !(d <= 2e-4) {
						t.Fatalf("%s: element %d is %v, want %v", key, i, got[key][i], w[i])
					}
				}
			}
		})
	}
}

// sparedStep makes two steps and returns all values behind them, and the changes of the pass.
func sparedStep(t *testing.T, net *sym.Symbol, without ...string) (got map[string][]float32,
	spared int) {
	t.Helper()
	ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(0), Without: without,
		Shapes: map[string]dtype.Shape{"data": {3, 2, 6, 6}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(7, 7))
	for _, a := range net.Arguments() {
		nettest.FillRandom(t, rng, ex.Args[a])
	}
	for range 2 {
		nettest.Step(t, ex)
	}
	got = map[string][]float32{}
	for name, g := range ex.Grads {
		got["gradient of "+name] = nettest.Values(t, g)
	}
	for name, a := range ex.Aux {
		got[name] = nettest.Values(t, a)
	}
	for i, o := range ex.Outputs() {
		got[fmt.Sprint("output ", i)] = nettest.Values(t, o)
	}
	e, err := ex.Explain(true)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(e.Passes, func(p sym.PassReport) bool { return p.Pass == "spare-bias" })
	if i >= 0 {
		spared = len(e.Passes[i].Changes)
	}
	return got, spared
}
