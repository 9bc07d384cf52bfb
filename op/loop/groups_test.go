package loop_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/op"
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
		checkGroups(t, seed, loop.GroupBy(list), want)
	}
}

// checkGroups compares groups with the places of each number.
func checkGroups(t *testing.T, seed uint64, g loop.Groups, want map[int64][]int32) {
	t.Helper()
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

// TestGroupRows compares groups of row numbers, of several element types and partly out of range,
// with the places of each row. Two lists are grouped at a time, so that they must not share memory.
func TestGroupRows(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		const rows = 5000
		n := []int{0, 1, 7, 600, 3000}[r.IntN(5)]
		limit := []int{3, rows, rows + 100}[r.IntN(3)]
		order := r.IntN(3)
		draw := func() (list []int32, want map[int64][]int32) {
			for range n {
				list = append(list, int32(r.IntN(limit)-limit/50))
			}
			if order > 0 {
				slices.Sort(list)
			}
			if order > 1 {
				list = slices.Compact(list)
			}
			want = map[int64][]int32{}
			for i, v := range list {
				k := int64(max(0, min(v, rows-1)))
				want[k] = append(want[k], int32(i))
			}
			return list, want
		}
		a, wantA := draw()
		b, wantB := draw()
		f := make([]float32, len(b))
		for i, v := range b {
			f[i] = float32(v)
		}
		ga := loop.GroupRows(op.TensorOf(a, len(a)), rows)
		gb := loop.GroupRows(op.TensorOf(f, len(f)), rows)
		checkGroups(t, seed, ga, wantA)
		checkGroups(t, seed, gb, wantB)
		ga.Free()
		gb.Free()
	}
}
