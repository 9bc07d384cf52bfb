package embed

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPack demands that every token of every sentence has one place of its own, in rows that are
// nearly full.
func TestPack(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		ids := make([][]int, r.IntN(300))
		most := 1 + r.IntN(512)
		total := 0
		for i := range ids {
			ids[i] = make([]int, 1+r.IntN(most))
			total += len(ids[i])
		}
		seen, room, last := make([]bool, len(ids)), 0, 0
		for _, b := range pack(ids) {
			if !slices.Contains(rowLengths, b.length) || b.rows&(b.rows-1) != 0 ||
				b.rows*b.length > batchTokens {
				t.Fatalf("seed %d: %d rows of %d", seed, b.rows, b.length)
			}
			room, last = room+b.rows*b.length, b.rows*b.length
			taken := make([]bool, b.rows*b.length)
			numbers := map[[2]int]bool{}
			for _, p := range b.places {
				if seen[p.sentence] || numbers[[2]int{p.row, p.number}] || p.number >= b.length/2 {
					t.Fatalf("seed %d: place %+v", seed, p)
				}
				seen[p.sentence], numbers[[2]int{p.row, p.number}] = true, true
				if p.at+len(ids[p.sentence]) > b.length {
					t.Fatalf("seed %d: %+v leaves its row of %d", seed, p, b.length)
				}
				for i := range ids[p.sentence] {
					at := p.row*b.length + p.at + i
					if taken[at] {
						t.Fatalf("seed %d: two sentences at %d", seed, at)
					}
					taken[at] = true
				}
			}
		}
		if slices.Contains(seen, false) {
			t.Fatalf("seed %d: a sentence has no place", seed)
		}
		if most <= 20 && room-last > total*11/10+batchTokens {
			t.Errorf("seed %d: %d tokens of room for %d", seed, room, total)
		}
	}
}
