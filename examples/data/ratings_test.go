package data_test

import (
	"math"
	"slices"
	"testing"

	"gomx/examples/data"
)

// TestRatings: ratings repeat, and their noise is the part that the factors do not explain.
func TestRatings(t *testing.T) {
	m := data.Ratings{Users: 50, Items: 40, Rank: 4, Noise: 0.5, Seed: 7}
	list := m.Draw(20_000)
	if !slices.Equal(list[:100], m.Draw(100)) {
		t.Error("the first ratings depend on their number")
	}
	m.Noise = 0
	squares, errors := 0.0, 0.0
	for i, clean := range m.Draw(len(list)) {
		if clean.User != list[i].User || clean.Item != list[i].Item {
			t.Fatalf("rating %d is of user %d and item %d without noise, %d and %d with it", i,
				clean.User, clean.Item, list[i].User, list[i].Item)
		}
		squares += float64(clean.Value) * float64(clean.Value)
		errors += math.Pow(float64(list[i].Value-clean.Value), 2)
	}
	n := float64(len(list))
	if noise := math.Sqrt(errors / n); math.Abs(noise-0.5) > 0.02 {
		t.Errorf("noise %v, want 0.5", noise)
	}
	if sd := math.Sqrt(squares / n); sd < 0.7 || sd > 1.4 {
		t.Errorf("standard deviation %v, want about 1", sd)
	}
}
