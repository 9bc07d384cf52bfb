package conformance_test

import (
	"errors"
	"testing"

	"gomx/internal/conformance"
	sym "gomx/symbol"
)

// TestRecomputedMemory checks that recomputing halves the planned memory of training deep networks.
// The gradient of the scores of 10000 words, as large as the output, is alive in any case; it is left
// out.
func TestRecomputedMemory(t *testing.T) {
	env, _ := environment(t)
	for _, c := range []struct {
		model string
		batch int
	}{{"resnet50_v1", 16}, {"lstm_t50_h512", 32}} {
		without, with, err := conformance.PlanRecomputed(env, c.model, c.batch, 0.5)
		if errors.Is(err, conformance.ErrNoCase) {
			t.Skip(err) // the small golden set is without it
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MiB, %d MiB with %d nodes computed twice", c.model, without.Arena>>20, with.Arena>>20, with.Recomputed)
		rest := func(use sym.MemoryUse) int64 { return use.Arena - use.Outputs }
		if 2*rest(with) > rest(without) {
			t.Errorf("%s: %d bytes planned with recomputing, %d without: want at most half", c.model, rest(with), rest(without))
		}
	}
}
