package loop_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TestColumnsOf compares the columns of random matrices, few and many for their elements, with the
// groups of their numbers, before and after changes of the content.
func TestColumnsOf(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, columns := range []int{1, 70, 3000, 1 << 40} {
		s := op.NewSparse(op.CSR, dtype.Float32, dtype.Shape{8, columns})
		for range 3 {
			var list []int64
			var rows []int64
			starts := []int64{0}
			for i := range 8 {
				row := make([]int64, r.IntN(min(columns, 40)+1))
				for k := range row {
					row[k] = r.Int64N(int64(columns))
				}
				slices.Sort(row)
				row = slices.Compact(row)
				list = append(list, row...)
				for range row {
					rows = append(rows, int64(i))
				}
				starts = append(starts, int64(len(list)))
			}
			s.Room(len(list))
			copy(s.Indices, list)
			copy(s.Starts, starts)
			c := loop.ColumnsOf(s)
			if again := loop.ColumnsOf(s); again != c {
				t.Fatal("the columns are found twice")
			}
			g := loop.GroupBy(list)
			at, e := loop.ElementsOf(s)
			if !slices.Equal(c.Keys, g.Keys) || !slices.Equal(e.Starts, g.Starts) ||
				!slices.Equal(at, rows) {
				t.Fatalf("seed %d, %d columns: %+v, want %+v", seed, columns, e, g)
			}
			for k := range g.Keys {
				if !slices.Equal(e.Places(k), g.Places(k)) {
					t.Fatalf("seed %d: elements %v of column %d, want %v", seed, e.Places(k), g.Keys[k],
						g.Places(k))
				}
			}
			for i, k := range list {
				if c.Keys[c.At[i]] != k {
					t.Fatalf("seed %d: element %d of column %d is at %d", seed, i, k, c.At[i])
				}
			}
			twin := op.NewSparse(op.CSR, dtype.Float32, s.Shape)
			if twin.Structure(s); loop.ColumnsOf(twin) != c {
				t.Error("a matrix of the same structure has columns of its own")
			}
		}
	}
}
