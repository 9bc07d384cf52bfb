package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

// TestRowLossIsOnePass compares the gradients of a layer of one output that are made with the
// outputs with those that are made after them, written and added, and looks whether a forward pass
// leaves gradients alone.
func TestRowLossIsOnePass(t *testing.T) {
	fc := func(p sym.FullyConnectedParams) *sym.Symbol {
		return sym.FullyConnected(sym.Var("data"), p, sym.Name("fc"))
	}
	one := sym.FullyConnectedParams{NumHidden: 1}
	for name, c := range map[string]struct {
		net   *sym.Symbol
		req   op.Req
		joins bool
	}{
		"logistic": {sym.LogisticRegressionOutput(fc(one), sym.RegressionParams{},
			sym.Name("out")), op.ReqWrite, true},
		"added": {sym.LogisticRegressionOutput(fc(one),
			sym.RegressionParams{GradScale: sym.Some(0.25)}, sym.Name("out")), op.ReqAdd, true},
		"linear": {sym.LinearRegressionOutput(fc(sym.FullyConnectedParams{NumHidden: 1,
			NoBias: true}), sym.RegressionParams{GradScale: sym.Some(2.0)}, sym.Name("out")),
			op.ReqWrite, true},
		"two": {sym.LogisticRegressionOutput(fc(sym.FullyConnectedParams{NumHidden: 2}),
			sym.RegressionParams{}, sym.Name("out")), op.ReqWrite, false},
		"also read": {alsoRead(fc(one)), op.ReqWrite, false},
	} {
		t.Run(name, func(t *testing.T) {
			var results [2]map[string][]float32
			for i, without := range [][]string{nil, {"fuse-row-loss"}} {
				ex, err := c.net.SimpleBind(
					sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {13, 40}},
						Without: without,
						GradReq: map[string]op.Req{"data": op.ReqNull, "out_label": op.ReqNull,
							"fc_weight": c.req, "fc_bias": c.req}})
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for _, a := range sym.Of(ex).Arguments() {
					nettest.FillRandom(t, rng, ex.Args[a])
				}
				results[i] = rowLossRun(t, ex)
				joined := changedBy(t, ex, true, "fuse-row-loss")
				if want := c.joins && i == 0; joined != want {
					t.Errorf("without %v: joined is %v, want %v", without, joined, want)
				}
				ex.Close()
			}
			for key, want := range results[1] {
				for k, w := range want {
					if g := results[0][key][k]; !(math.Abs(float64(g-w)) <= 1e-4*(1+math.Abs(float64(w)))) {
						t.Fatalf("%s: element %d is %v, want %v", key, k, g, w)
					}
				}
			}
		})
	}
}

// alsoRead puts a head on a layer whose results somebody else reads too.
func alsoRead(layer *sym.Symbol) *sym.Symbol {
	return sym.Group(sym.LogisticRegressionOutput(layer, sym.RegressionParams{}, sym.Name("out")),
		sym.BlockGrad(layer))
}

// changedBy reports whether a pass has changed the graph of an executor.
func changedBy(t *testing.T, ex *sym.Executor, train bool, pass string) bool {
	t.Helper()
	e, err := ex.Explain(train)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(e.Passes, func(p sym.PassReport) bool {
		return p.Pass == pass && len(p.Changes) > 0
	})
}

// rowLossRun makes two steps and returns outputs and gradients.
func rowLossRun(t *testing.T, ex *sym.Executor) map[string][]float32 {
	t.Helper()
	for _, g := range ex.Grads {
		g.Fill(3)
	}
	for range 2 {
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string][]float32{"output": nettest.Values(t, ex.Outputs()[0])}
	for name, g := range ex.Grads {
		for _, v := range nettest.Values(t, g) {
			if v != 3 {
				t.Fatalf("a forward pass has written the gradient of %s", name)
			}
		}
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
	for name, g := range ex.Grads {
		out[name] = nettest.Values(t, g)
	}
	return out
}

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
