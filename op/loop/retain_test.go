package loop_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TestRetain keeps random rows of random rows, few of many and many of few, and compares them with
// a map.
func TestRetain(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	stored := func(share float64, rows, row int) *op.Sparse {
		s := op.NewSparse(op.RowSparse, dtype.Float32, dtype.Shape{rows, row})
		var list []int64
		for i := range rows {
			if r.Float64() < share {
				list = append(list, int64(i))
			}
		}
		s.Room(len(list))
		copy(s.Indices, list)
		values := op.Slice[float32](s.Values())
		for i := range values {
			values[i] = r.Float32()
		}
		return s
	}
	for range 40 {
		shares := []float64{0, 0.01, 0.3, 1}
		rows, row := 1+r.IntN(3000), 1+r.IntN(5)
		from, out := stored(shares[r.IntN(4)], rows, row), stored(shares[r.IntN(4)], rows, row)
		have := map[int64][]float32{}
		for i, k := range from.Indices {
			have[k] = op.Slice[float32](from.Values())[i*row : (i+1)*row]
		}
		loop.Retain(out, from, 2)
		for i, k := range out.Indices {
			want := have[k]
			if want == nil {
				want = make([]float32, row)
			}
			if got := op.Slice[float32](out.Values())[i*row : (i+1)*row]; !slices.Equal(got, want) {
				t.Fatalf("seed %d: row %d of %d is %v, want %v", seed, k, rows, got, want)
			}
		}
	}
}

// TestMerge compares unions of random lists with sorted ones.
func TestMerge(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	list := func() []int64 {
		a := make([]int64, r.IntN(50))
		for i := range a {
			a[i] = r.Int64N(60)
		}
		slices.Sort(a)
		return slices.Compact(a)
	}
	for range 200 {
		a, b := list(), list()
		want := slices.Concat(a, b)
		slices.Sort(want)
		if got := loop.Merge(a, b); !slices.Equal(got, slices.Compact(want)) {
			t.Fatalf("seed %d: %v and %v: %v, want %v", seed, a, b, got, want)
		}
	}
	if a := list(); !slices.Equal(loop.Merge(a, a), a) {
		t.Errorf("seed %d: %v with itself", seed, a)
	}
}
