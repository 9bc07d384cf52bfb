package measure

import (
	"slices"
	"testing"
)

// TestCalmest: the calmest round gives the times of the steps, in any order of the rounds.
func TestCalmest(t *testing.T) {
	calm := []float64{1, 1.01, 0.99, 1, 1, 1.01, 0.99, 1}
	rounds := [][]computeFigures{
		{{Each: []float64{1, 1.5, 0.9, 1.2, 1, 1.4, 0.8, 1}}, {Each: calm[:4]}},
		{{Each: calm}},
		{{Each: []float64{0.5, 0.8, 0.5, 0.8, 0.5, 0.8, 0.5, 0.8}}},
	}
	for range rounds {
		if got := calmest(rounds); !slices.Equal(got, calm) {
			t.Errorf("got steps %v, want %v", got, calm)
		}
		rounds = append(rounds[1:], rounds[0])
	}
}
