package worker

import (
	"math/rand/v2"
	"testing"
)

// TestTally compares a tally with a map.
func TestTally(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 1))
	var got tally
	want := map[uint64]int{}
	for range 2000 {
		clock := rng.Uint64N(5)
		if rng.IntN(2) == 0 {
			got.add(clock)
			want[clock]++
		} else if got.drop(clock); want[clock] > 0 {
			want[clock]--
		}
		for c := range uint64(5) {
			if got.count(c) != want[c] {
				t.Fatalf("seed %d: %d things at clock %d, want %d", seed, got.count(c), c, want[c])
			}
		}
	}
}
