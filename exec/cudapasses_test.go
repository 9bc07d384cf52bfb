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
			sparedAgrees(t, c.net, sym.BindConfig{}, "spare-bias", c.want)
		})
	}
}

// TestCUDAAddsInProducts compares steps with and without the pass that lets products add to gradients.
func TestCUDAAddsInProducts(t *testing.T) {
	needGPU(t)
	layer := func(s *sym.Symbol, p sym.FullyConnectedParams) *sym.Symbol {
		p.NumHidden, p.NoFlatten = 6, true
		return sym.FullyConnected(s, p)
	}
	plain, noBias := sym.FullyConnectedParams{}, sym.FullyConnectedParams{NoBias: true}
	x := sym.Sigmoid(sym.Var("data"))
	sum := func(list ...*sym.Symbol) *sym.Symbol { return sym.AddN(list) }
	narrow := sym.BindConfig{Precision: dtype.BFloat16}
	scaled := sym.BindConfig{Precision: dtype.Float16, LossScale: sym.NewLossScale(device.CUDA(0), 8)}
	for name, c := range map[string]struct {
		net *sym.Symbol
		// Sums that products make, and with mixed precision, where gradients of float32 are added
		// to by other operators.
		want, mixed int
	}{
		"two layers":   {sum(layer(x, plain), layer(x, noBias)), 1, 1},
		"three":        {sum(layer(x, plain), layer(x, plain), layer(x, plain)), 1, 1},
		"and itself":   {sum(layer(x, plain), x), 1, 0},
		"four":         {sum(layer(x, plain), layer(x, plain), layer(x, plain), x), 3, 1},
		"and others":   {sum(layer(x, plain), x, sym.Tanh(x)), 1, 0},
		"one":          {layer(x, plain), 0, 0},
		"no gradients": {sum(sym.BlockGrad(layer(x, plain)), x), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sparedAgrees(t, c.net, sym.BindConfig{}, "add-in-products", c.want)
			sparedAgrees(t, c.net, narrow, "add-in-products", c.mixed)
			sparedAgrees(t, c.net, scaled, "add-in-products", c.mixed)
		})
	}
}

// sparedAgrees compares two steps with and without a pass, which changes a number of places.
func sparedAgrees(t *testing.T, net *sym.Symbol, c sym.BindConfig, pass string, changes int) {
	t.Helper()
	got, made := sparedStep(t, net, c, pass)
	c.Without = []string{pass}
	want, none := sparedStep(t, net, c, pass)
	tol := 2e-4
	if c.Precision != dtype.Float32 {
		tol = 0.05 // sums of numbers of 16 bits
	}
	if made != changes || none != 0 {
		t.Errorf("%d changes, without the pass %d, want %d and 0", made, none, changes)
	}
	for key, w := range want {
		for i := range w {
			if d := math.Abs(float64(got[key][i] - w[i])); !(d <= tol*max(1, math.Abs(float64(w[i])))) {
				t.Fatalf("%s: element %d is %v, want %v", key, i, got[key][i], w[i])
			}
		}
	}
}

// sparedStep makes two steps and returns all values behind them, and the changes of the pass.
func sparedStep(t *testing.T, net *sym.Symbol, c sym.BindConfig, pass string) (
	got map[string][]float32, changes int) {
	t.Helper()
	c.Device, c.Shapes = device.CUDA(0), map[string]dtype.Shape{"data": {3, 2, 6, 6}}
	ex, err := net.SimpleBind(c)
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
	got = stepValues(t, ex)
	e, err := ex.Explain(true)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(e.Passes, func(p sym.PassReport) bool { return p.Pass == pass })
	if i >= 0 {
		changes = len(e.Passes[i].Changes)
	}
	return got, changes
}

// stepValues returns the gradients, auxiliary states and outputs behind a step.
func stepValues(t *testing.T, ex *sym.Executor) map[string][]float32 {
	t.Helper()
	got := map[string][]float32{}
	for name, g := range ex.Grads {
		got["gradient of "+name] = nettest.Values(t, g)
	}
	for name, a := range ex.Aux {
		got[name] = nettest.Values(t, a)
	}
	for i, o := range ex.Outputs() {
		got[fmt.Sprint("output ", i)] = nettest.Values(t, o)
	}
	return got
}
