package exec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// TestPartialForward runs a network step by step, forward and backward, and compares it with whole
// runs.
func TestPartialForward(t *testing.T) {
	ex, whole := bindMLP(t, sym.BindConfig{}), bindMLP(t, sym.BindConfig{})
	defer ex.Close()
	defer whole.Close()
	for _, train := range []bool{true, false, true} {
		steps := 0
		for left := 1; left > 0; steps++ {
			var err error
			before := left
			if left, err = ex.PartialForward(train, steps); err != nil {
				t.Fatal(err)
			}
			if steps > 0 && left != before-1 {
				t.Fatalf("step %d leaves %d, the one before left %d", steps, left, before)
			}
		}
		if steps < 3 {
			t.Errorf("the network has %d steps, want at least one for each layer", steps)
		}
		if left, err := ex.PartialForward(train, steps); left != 0 || err != nil {
			t.Errorf("a step beyond the end: got %d and %v", left, err)
		}
		if err := whole.Forward(train); err != nil {
			t.Fatal(err)
		}
		nettest.SameBits(t, "output", nettest.Values(t, ex.Outputs()[0]),
			nettest.Values(t, whole.Outputs()[0]))
		if !train {
			continue
		}
		for _, e := range []*sym.Executor{ex, whole} {
			if err := e.Backward(); err != nil {
				t.Fatal(err)
			}
		}
		for name := range whole.Grads {
			nettest.SameBits(t, "gradient of "+name, nettest.Values(t, ex.Grads[name]),
				nettest.Values(t, whole.Grads[name]))
		}
	}
}

// TestPartialForwardStops looks at outputs between the steps of a graph whose outputs follow each
// other.
func TestPartialForwardStops(t *testing.T) {
	x := sym.Var("x")
	first := sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2, NoBias: true},
		sym.Name("first"))
	second := sym.FullyConnected(first, sym.FullyConnectedParams{NumHidden: 2, NoBias: true},
		sym.Name("second"))
	ex, err := sym.Group(first, second).SimpleBind(
		sym.BindConfig{Shapes: map[string]dtype.Shape{"x": {1, 2}}, NoFusion: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	for _, a := range ex.Args {
		a.Fill(1)
	}
	if left, err := ex.PartialForward(false, 0); err != nil || left != 1 {
		t.Fatalf("step 0: %d left, %v, want 1", left, err)
	}
	nettest.Compare(t, "first output after step 0", nettest.Values(t, ex.Outputs()[0]),
		[]float32{2, 2})
	nettest.Compare(t, "second output after step 0", nettest.Values(t, ex.Outputs()[1]),
		[]float32{0, 0})
	if left, err := ex.PartialForward(false, 1); err != nil || left != 0 {
		t.Fatalf("step 1: %d left, %v, want 0", left, err)
	}
	nettest.Compare(t, "second output after step 1", nettest.Values(t, ex.Outputs()[1]),
		[]float32{4, 4})
}

// TestPartialForwardOrder tries steps out of order, across other runs, and on a closed executor.
func TestPartialForwardOrder(t *testing.T) {
	ex := bindMLP(t, sym.BindConfig{})
	other, err := ex.Reshape(map[string]dtype.Shape{"data": {2, 7}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(step int, want string) {
		t.Helper()
		_, err := ex.PartialForward(true, step)
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("step %d: got %s, want %s", step, got, want)
		}
	}
	try(-1, "step -1, want one from 0 on")
	try(1, "step 1, want step 0")
	try(0, "<nil>")
	try(2, "step 2, want step 0 or the one after the last")
	try(1, "<nil>")
	if err := other.Forward(false); err != nil {
		t.Fatal(err)
	}
	try(2, "another executor that shares the memory has run")
	try(0, "<nil>")
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	try(1, "step 1, want step 0")
	if err := ex.Backward(); err == nil {
		try(0, "<nil>")
	} else {
		t.Errorf("Backward after a failed step: %v", err)
	}
	ex.Close()
	other.Close()
	try(0, "closed executor")
}

// TestPartialForwardFused runs convolutional layers, fused and with kept weights, step by step.
func TestPartialForwardFused(t *testing.T) {
	net := sym.Var("data")
	for i := range 2 {
		net = sym.Convolution(net, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: 16, NoBias: true}, sym.Name(fmt.Sprint("conv", i)))
		net = sym.BatchNorm(net, sym.BatchNormParams{}, sym.Name(fmt.Sprint("bn", i))).At(0)
		net = sym.Activation(net, sym.ActivationParams{ActType: "relu"},
			sym.Name(fmt.Sprint("relu", i)))
	}
	ex, err := net.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {1, 16, 8, 8}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, list := range []map[string]*nd.Array{ex.Args, ex.Aux} {
		for _, a := range list {
			nettest.FillBetween(t, rng, a, 0.1, 1)
		}
	}
	for range 2 {
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		want := nettest.Values(t, ex.Outputs()[0])
		for step, left := 0, 1; left > 0; step++ {
			if left, err = ex.PartialForward(false, step); err != nil {
				t.Fatal(err)
			}
		}
		nettest.SameBits(t, "output", nettest.Values(t, ex.Outputs()[0]), want)
		nettest.FillBetween(t, rng, ex.Args["conv0_weight"], 0.1, 1)
	}
}
