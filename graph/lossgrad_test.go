package graph_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

// classifier is two dense layers under a softmax loss.
func classifier(p sym.SoftmaxOutputParams) *sym.Symbol {
	h := sym.Activation(sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 24},
		sym.Name("fc1")), sym.ActivationParams{ActType: "tanh"})
	return sym.SoftmaxOutput(sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 300},
		sym.Name("fc2")), p, sym.Name("softmax"))
}

// TestLossGradientIsNotKept compares gradients that are made block by block with those of the
// operators apart, and the memory of both.
func TestLossGradientIsNotKept(t *testing.T) {
	shapes := map[string]dtype.Shape{"data": {40, 16}}
	for _, c := range []struct {
		name  string
		p     sym.SoftmaxOutputParams
		fuses bool
	}{
		{"plain", sym.SoftmaxOutputParams{}, true},
		{"valid", sym.SoftmaxOutputParams{Normalization: "valid", UseIgnore: true,
			IgnoreLabel: sym.Some(0.0)}, true},
		{"smooth", sym.SoftmaxOutputParams{SmoothAlpha: 0.1, GradScale: sym.Some(0.5)}, true},
		{"times the output", sym.SoftmaxOutputParams{OutGrad: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var grads [2]map[string][]float32
			var arena [2]int64
			for i, without := range [][]string{nil, {"fuse-loss-gradient"}} {
				ex, err := classifier(c.p).SimpleBind(sym.BindConfig{Shapes: shapes,
					Without: without, GradReq: map[string]op.Req{"softmax_label": op.ReqNull}})
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for _, name := range sym.Of(ex).Arguments() {
					nettest.FillRandom(t, rng, ex.Args[name])
				}
				nettest.Step(t, ex)
				use, err := ex.MemoryUse(true)
				if err != nil {
					t.Fatal(err)
				}
				arena[i], grads[i] = use.Values, map[string][]float32{}
				for name, g := range ex.Grads {
					grads[i][name] = nettest.Values(t, g)
				}
				ex.Close()
			}
			for name, want := range grads[1] {
				for k, w := range want {
					if g := grads[0][name][k]; math.Abs(float64(g-w)) > 1e-4*(1+math.Abs(float64(w))) {
						t.Fatalf("gradient of %s: element %d is %v, want %v", name, k, g, w)
					}
				}
			}
			if saved := arena[1] - arena[0]; (saved >= 4*40*300) != c.fuses {
				t.Errorf("%d bytes saved of %d: the gradient of the scores has %d", saved, arena[1],
					4*40*300)
			}
		})
	}
}
