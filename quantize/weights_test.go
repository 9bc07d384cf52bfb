package quantize_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/quantize"
	sym "gomx/symbol"
)

// TestWeights stores the weights of a network, saves and loads it, and compares the outputs with
// those of float32. A layer whose columns fit no group, and an excluded one, stay as they are.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 11))
	x := sym.Var("data")
	for _, l := range []struct {
		name string
		n    int
	}{{"f1", 96}, {"f2", 40}, {"f3", 64}, {"f4", 5}} {
		x = sym.Relu(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: l.n,
			NoBias: l.name == "f2"}, sym.Name(l.name)))
	}
	shape := dtype.Shape{3, 128}
	m := model(t, x, rng, shape)
	data := samples(rng, shape)
	want := outputs(t, m, data, false)
	for _, c := range []struct {
		config quantize.WeightConfig
		error  float64 // four layers of random weights, each with an error of half a step
		stored string
	}{
		{quantize.WeightConfig{}, 0.05, "f1 f2 f3 f4"},
		{quantize.WeightConfig{Group: 32}, 0.02, "f1 f2 f4"},
		{quantize.WeightConfig{Bits: 4}, 0.35, "f1 f2 f4"},
		{quantize.WeightConfig{Bits: 4, Exclude: []string{"f1"}}, 0.35, "f2 f4"},
	} {
		r, err := quantize.Weights(m, c.config)
		if err != nil {
			t.Fatal(err)
		}
		var stored []string
		for _, l := range r.Layers {
			if l.Quantized {
				stored = append(stored, l.Name)
			} else if l.Reason == "" {
				t.Errorf("%+v: %s: no reason", c.config, l.Name)
			}
		}
		if got := strings.Join(stored, " "); got != c.stored {
			t.Errorf("%+v: weights of %s are stored as integers, want %s", c.config, got, c.stored)
		}
		prefix := t.TempDir() + "/w"
		if err := r.Model.Save(prefix, 0); err != nil {
			t.Fatal(err)
		}
		again, err := checkpoint.Load(prefix, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, plain := range []bool{true, false} {
			d := nettest.Distance(outputs(t, again, data, plain), want, 0)
			if t.Logf("%+v: error %.4f", c.config, d); !(d < c.error && d > 1e-5) {
				t.Errorf("%+v: error %v, want at most %v and more than none", c.config, d, c.error)
			}
		}
	}
	for _, c := range []struct {
		config quantize.WeightConfig
		want   string
	}{
		{quantize.WeightConfig{Bits: 5}, "5 bits, want 4 or 8"},
		{quantize.WeightConfig{Group: 16}, "groups of 16 weights, want a multiple of 32"},
		{quantize.WeightConfig{Exclude: []string{"g"}}, `layer "g" to exclude is not in the network`},
	} {
		if _, err := quantize.Weights(m, c.config); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.config, err, c.want)
		}
	}
}
