package conformance_test

import (
	"errors"
	"testing"

	"gomx/internal/conformance"
)

// TestRecomputedMemory checks that recomputing saves half of the planned memory of training deep
// networks.
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
		t.Logf("%s: %d MiB, %d MiB with %d nodes computed twice", c.model, without.Arena>>20,
			with.Arena>>20, with.Recomputed)
		if 2*with.Arena > without.Arena {
			t.Errorf("%s: %d bytes planned with recomputing, %d without: want at most half",
				c.model, with.Arena, without.Arena)
		}
	}
}
