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
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// TestCUDAKeptCasts compares training that keeps parameters in 16 bits with training that converts
// them in every step, bit for bit: with updates, without them, and with parameters that are written
// by others.
func TestCUDAKeptCasts(t *testing.T) {
	needGPU(t)
	x := sym.Convolution(sym.Var("data"), sym.ConvolutionParams{Kernel: []int{3, 3}, NumFilter: 8})
	x = sym.FullyConnected(sym.Relu(sym.BatchNorm(x, sym.BatchNormParams{})),
		sym.FullyConnectedParams{NumHidden: 6})
	net := sym.SoftmaxOutput(sym.FullyConnected(sym.Tanh(x), sym.FullyConnectedParams{NumHidden: 3}),
		sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	for name, c := range map[string]struct {
		bind sym.BindConfig
		by   optimizer.Optimizer
	}{
		"sgd":       {sym.BindConfig{Precision: dtype.BFloat16}, optimizer.SGD{LR: 0.1}},
		"momentum":  {sym.BindConfig{Precision: dtype.BFloat16}, optimizer.SGD{LR: 0.1, Momentum: 0.9}},
		"adam":      {sym.BindConfig{Precision: dtype.BFloat16, Replay: true}, optimizer.Adam{LR: 0.01}},
		"lamb":      {sym.BindConfig{Precision: dtype.BFloat16, Replay: true}, optimizer.LAMB{LR: 0.01}},
		"recompute": {sym.BindConfig{Precision: dtype.BFloat16, Recompute: 0.1}, optimizer.NAG{LR: 0.1}},
		"scaled": {sym.BindConfig{Precision: dtype.Float16, Replay: true,
			LossScale: sym.NewLossScale(device.CUDA(0), 64)}, optimizer.NAG{LR: 0.1, Momentum: 0.9}},
	} {
		t.Run(name, func(t *testing.T) {
			got, kept := castsTrained(t, net, c.bind, c.by)
			c.bind.Without = []string{"keep-casts", "join-casts"}
			want, none := castsTrained(t, net, c.bind, c.by)
			if kept != 5 || none != 0 { // the bias before the norm is spared
				t.Errorf("%d parameters kept in 16 bits, without the pass %d, want 5 and 0", kept, none)
			}
			for key, w := range want {
				if !slices.EqualFunc(got[key], w, func(a, b float32) bool {
					return math.Float32bits(a) == math.Float32bits(b)
				}) {
					t.Errorf("%s is %v, want %v", key, got[key], w)
				}
			}
		})
	}
}

// castsTrained returns parameters and outputs on the way, and how many parameters are kept.
func castsTrained(t *testing.T, net *sym.Symbol, c sym.BindConfig, by optimizer.Optimizer) (
	got map[string][]float32, kept int) {
	t.Helper()
	c.Device, c.Shapes = device.CUDA(0), map[string]dtype.Shape{"data": {3, 2, 6, 6}}
	ex, err := net.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	names := net.Arguments()
	u, err := optimizer.NewUpdater(by, names)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, a := range names {
		nettest.FillRandom(t, rng, ex.Args[a])
	}
	got = map[string][]float32{}
	note := func(at string) {
		got["output "+at] = nettest.Values(t, ex.Outputs()[0])
		for _, a := range names {
			got[a+" "+at] = nettest.Values(t, ex.Args[a])
		}
	}
	update := func() {
		u.Begin()
		for i, a := range names {
			if g := ex.Grads[a]; g != nil && a != "data" && a != "softmax_label" {
				if err := u.Update(i, ex.Args[a], g); err != nil {
					t.Fatal(err)
				}
			}
		}
		u.End()
	}
	for step := range 7 {
		switch step {
		case 2, 5: // as a checkpoint or a store
			nettest.FillRandom(t, rng, ex.Args[names[1]])
		case 3:
			if err := ex.Forward(false); err != nil {
				t.Fatal(err)
			}
			note("of inference")
		}
		nettest.Step(t, ex)
		if step != 1 { // skipped
			update()
		}
		note(fmt.Sprint("of step ", step))
	}
	if err := nd.WaitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	e, err := ex.Explain(true)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(e.Passes, func(p sym.PassReport) bool {
		return p.Pass == "keep-casts"
	}); i >= 0 {
		kept = len(e.Passes[i].Changes)
	}
	return got, kept
}
