package nettest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/engine"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func Step(t testing.TB, ex *sym.Executor) {
	t.Helper()
	if err := ex.Forward(true); err != nil {
		t.Fatal(err)
	}
	if err := ex.Backward(); err != nil {
		t.Fatal(err)
	}
}

// Outcome holds the outputs, gradients and auxiliary states that runs of a graph left, by labels
// such as "step 0 output 1".
type Outcome map[string][]float32

// Trial is how a graph is run: everything that does not depend on passes.
type Trial struct {
	Net    *sym.Symbol
	Config sym.BindConfig
	Seed   uint64
}

// Run binds the graph without some passes, or without any, and does two steps of training and one
// inference.
func (c *Trial) Run(t *testing.T, plain bool, without []string) Outcome {
	t.Helper()
	b := c.Config
	b.NoFusion, b.Without = plain, without
	ex, err := c.Net.SimpleBind(b)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(c.Seed, 7))
	for _, name := range c.Net.Arguments() {
		FillGently(t, rng, ex.Args[name])
		if strings.HasSuffix(name, "_label") {
			label := make([]float32, ex.Args[name].Size())
			for i := range label {
				label[i] = float32(rng.IntN(12)) // a class
			}
			if err := nd.CopyFrom(ex.Args[name], label); err != nil {
				t.Fatal(err)
			}
		}
		if g := ex.Grads[name]; g != nil {
			FillBetween(t, rng, g, -1, 1)
		}
	}
	for _, name := range c.Net.AuxStates() {
		FillBetween(t, rng, ex.Aux[name], 0.5, 1)
	}
	res := Outcome{}
	for step := range 2 {
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		c.keep(t, res, fmt.Sprintf("step %d output", step), ex.Outputs())
		if len(ex.Grads) == 0 {
			continue
		}
		var heads []*nd.Array
		for _, o := range ex.Outputs() {
			h := nd.Empty(o.Shape())
			FillBetween(t, rng, h, -1, 1)
			heads = append(heads, h)
		}
		if err := ex.Backward(heads...); err != nil {
			t.Fatal(err)
		}
	}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	c.keep(t, res, "inference output", ex.Outputs())
	for name, g := range ex.Grads {
		res["gradient of "+name] = Values(t, g)
	}
	for name, a := range ex.Aux {
		res["state "+name] = Values(t, a)
	}
	return res
}

func (c *Trial) keep(t *testing.T, res Outcome, what string, list []*nd.Array) {
	for i, a := range list {
		res[fmt.Sprintf("%s %d", what, i)] = Values(t, a)
	}
}

// OnNaive runs f with an engine that does everything at once.
func OnNaive(t *testing.T, f func()) {
	t.Helper()
	e, err := engine.New(engine.Config{Naive: true})
	if err != nil {
		t.Fatal(err)
	}
	old := engine.SetDefault(e)
	defer engine.SetDefault(old)
	f()
}
