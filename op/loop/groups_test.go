package loop_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/op/loop"
)

// TestGroupBy compares groups of random lists, short and long, with the places of each number.
func TestGroupBy(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		n, limit := []int{0, 1, 7, 600, 3000}[r.IntN(5)], []int64{1, 9, 5000, 1 << 40}[r.IntN(4)]
		list := make([]int64, n)
		for i := range list {
			list[i] = r.Int64N(limit)
		}
		if r.IntN(3) == 0 {
			slices.Sort(list)
		}
		want := map[int64][]int32{}
		for i, v := range list {
			want[v] = append(want[v], int32(i))
		}
		g := loop.GroupBy(list)
		if len(g.Keys) != len(want) || len(g.Starts) != len(want)+1 || !slices.IsSorted(g.Keys) {
			t.Fatalf("seed %d: %d keys and %d starts, want %d groups", seed, len(g.Keys),
				len(g.Starts), len(want))
		}
		for i, key := range g.Keys {
			if got := g.Places(i); !slices.Equal(got, want[key]) {
				t.Fatalf("seed %d: %d is at %v, want %v", seed, key, got, want[key])
			}
		}
	}
}
