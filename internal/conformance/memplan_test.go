package conformance_test

import (
	"errors"
	"testing"

	"gomx/internal/conformance"
)

// TestRecomputedMemory checks how much of the planned memory of training deep networks recomputing saves. An LSTM
// keeps the inputs of 50 steps and the gradients that flow back into them in any case.
func TestRecomputedMemory(t *testing.T) {
	env, _ := environment(t)
	for _, c := range []struct {
		model string
		batch int
		most  float64 // share of the memory
	}{{"resnet50_v1", 16, 0.5}, {"lstm_t50_h512", 32, 0.7}} {
		without, with, err := conformance.PlanRecomputed(env, c.model, c.batch, 0.5)
		if errors.Is(err, conformance.ErrNoCase) {
			t.Skip(err) // the small golden set is without it
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MiB, %d MiB with %d nodes computed twice", c.model, without.Arena>>20, with.Arena>>20, with.Recomputed)
		if float64(with.Arena) > c.most*float64(without.Arena) {
			t.Errorf("%s: %d bytes planned with recomputing, %d without: want at most the share %v", c.model, with.Arena, without.Arena, c.most)
		}
	}
}
