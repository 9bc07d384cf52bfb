package data_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/examples/data"
)

// TestAUC compares with the definition, over all pairs.
func TestAUC(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		n := 1 + r.IntN(30)
		scores, labels := make([]float32, n), make([]float32, n)
		for i := range scores {
			scores[i], labels[i] = float32(r.IntN(8)), float32(r.IntN(2))
		}
		wins, pairs := 0.0, 0.0
		for i, a := range scores {
			for k, b := range scores {
				if labels[i] != 1 || labels[k] != 0 {
					continue
				}
				pairs++
				if a > b {
					wins++
				} else if a == b {
					wins += 0.5
				}
			}
		}
		want := 0.5
		if pairs > 0 {
			want = wins / pairs
		}
		if got := data.AUC(scores, labels); math.Abs(got-want) > 1e-12 {
			t.Fatalf("seed %d: scores %v, labels %v: AUC %v, want %v", seed, scores, labels, got,
				want)
		}
	}
}
