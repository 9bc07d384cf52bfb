package data_test

import (
	"slices"
	"testing"

	"gomx/examples/data"
)

// TestWords: neighbours are of the next classes, and small numbers are frequent.
func TestWords(t *testing.T) {
	l := data.Words{Classes: 5, PerClass: 20, Seed: 2}
	words, neighbours := l.Pairs(2000, 2, 0)
	again, _ := l.Pairs(2000, 2, 0)
	other, _ := l.Pairs(2000, 2, 1)
	if !slices.Equal(words, again) || slices.Equal(words, other) {
		t.Error("texts of one part differ, or texts of two parts do not")
	}
	seen := make([]int, l.Classes*l.PerClass)
	for i, w := range words {
		seen[w]++
		d := (l.Class(int(neighbours[i])) - l.Class(int(w)) + l.Classes) % l.Classes
		if d == 0 {
			t.Fatalf("words %d and %d of one class are neighbours", w, neighbours[i])
		}
	}
	if want := 2000 * 2 * (7 + 6); len(words) != want || len(neighbours) != want {
		t.Errorf("%d words and %d neighbours, want %d", len(words), len(neighbours), want)
	}
	for c := range l.Classes {
		if first, last := seen[c], seen[len(seen)-l.Classes+c]; first < 4*last || last == 0 {
			t.Errorf("class %d: the first word is seen %d times, the last one %d", c, first, last)
		}
	}
}
