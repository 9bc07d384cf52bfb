package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	sym "gomx/symbol"
)

// TestSoftmaxAddsTheBias compares a softmax that adds the bias of the layer below it with the two
// operators apart, in training and inference, and looks where it does.
func TestSoftmaxAddsTheBias(t *testing.T) {
	layer := func(p sym.FullyConnectedParams) *sym.Symbol {
		p.NumHidden = 30
		return sym.FullyConnected(sym.Var("data"), p, sym.Name("fc"))
	}
	plain, noBias := sym.FullyConnectedParams{}, sym.FullyConnectedParams{NoBias: true}
	soft := func(s *sym.Symbol, p sym.SoftmaxOutputParams) *sym.Symbol {
		return sym.SoftmaxOutput(s, p, sym.Name("softmax"))
	}
	for name, c := range map[string]struct {
		net   *sym.Symbol
		shape dtype.Shape
		moves bool
	}{
		"many rows": {soft(layer(plain), sym.SoftmaxOutputParams{}), dtype.Shape{128, 16}, true},
		"few rows":  {soft(layer(plain), sym.SoftmaxOutputParams{}), dtype.Shape{127, 16}, false},
		"no bias":   {soft(layer(noBias), sym.SoftmaxOutputParams{}), dtype.Shape{128, 16}, false},
		"other axis": {soft(layer(plain), sym.SoftmaxOutputParams{MultiOutput: true}),
			dtype.Shape{128, 16}, false},
		"long rows": {soft(layer(sym.FullyConnectedParams{NoFlatten: true}),
			sym.SoftmaxOutputParams{PreserveShape: true}),
			dtype.Shape{20, 8, 16}, true},
		"also read": {alsoReadScores(layer(plain)), dtype.Shape{128, 16}, false},
	} {
		for _, train := range []bool{false, true} {
			var results [2]map[string][]float32
			for i, without := range [][]string{nil, {"move-bias"}} {
				ex, err := c.net.SimpleBind(
					sym.BindConfig{Shapes: map[string]dtype.Shape{"data": c.shape},
						Without: without})
				if err != nil {
					t.Fatal(name, err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for _, a := range sym.Of(ex).Arguments() {
					nettest.FillRandom(t, rng, ex.Args[a])
				}
				results[i] = resultsOf(t, ex, train)
				moved := changedBy(t, ex, train, "move-bias")
				if want := c.moves && i == 0; moved != want {
					t.Errorf("%s, training %v, without %v: moved is %v, want %v", name, train,
						without, moved, want)
				}
				ex.Close()
			}
			for key, want := range results[1] {
				for k, w := range want {
					if g := results[0][key][k]; !(math.Abs(float64(g-w)) <= 1e-5*(1+math.Abs(float64(w)))) {
						t.Fatalf("%s, training %v: %s: element %d is %v, want %v", name, train, key,
							k, g, w)
					}
				}
			}
		}
	}
}

// alsoReadScores has the scores among its outputs.
func alsoReadScores(scores *sym.Symbol) *sym.Symbol {
	return sym.Group(sym.SoftmaxOutput(scores, sym.SoftmaxOutputParams{}, sym.Name("softmax")),
		sym.BlockGrad(scores))
}

// resultsOf returns the outputs of one pass, and the gradients of one that trains.
func resultsOf(t *testing.T, ex *sym.Executor, train bool) map[string][]float32 {
	t.Helper()
	got := map[string][]float32{}
	if train {
		nettest.Step(t, ex)
		for name, g := range ex.Grads {
			got[name] = nettest.Values(t, g)
		}
	} else if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	for i, o := range ex.Outputs() {
		got[fmt.Sprint("output ", i)] = nettest.Values(t, o)
	}
	return got
}
