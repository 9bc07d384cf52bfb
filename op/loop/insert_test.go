package loop_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TestInsert adds random rows to an array again and again, beside a map.
func TestInsert(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, pooled := range []bool{false, true} {
		const rows, row = 300, 3
		s := op.NewSparse(op.RowSparse, dtype.Float32, dtype.Shape{rows, row})
		if pooled {
			s.Pool()
			defer s.Free()
		}
		want := map[int64]float32{}
		for range 60 {
			var list []int64
			for _, id := range r.Perm(rows)[:r.IntN(12)] {
				list = append(list, int64(id))
			}
			slices.Sort(list)
			if r.IntN(2) == 0 {
				loop.InsertZeros(s, list)
				for _, id := range list {
					want[id] += 0
				}
			} else {
				for _, at := range loop.Insert(s, list) {
					id := s.Indices[at]
					if _, ok := want[id]; ok || !slices.Contains(list, id) {
						t.Fatalf("seed %d: row %d is new", seed, id)
					}
					want[id] = r.Float32()
					for c := range row {
						op.Slice[float32](s.Values())[at*row+c] = want[id]
					}
				}
			}
			if err := s.Check(); err != nil || s.N != len(want) {
				t.Fatalf("seed %d: %d rows, %v, want %d", seed, s.N, err, len(want))
			}
			for i, v := range op.Slice[float32](s.Values()) {
				if id := s.Indices[i/row]; v != want[id] {
					t.Fatalf("seed %d: row %d is %v, want %v", seed, id, v, want[id])
				}
			}
		}
	}
}

// BenchmarkInsert adds 100 new rows to arrays that store many.
func BenchmarkInsert(b *testing.B) {
	const rows, row, step = 1 << 20, 16, 100
	r := rand.New(rand.NewPCG(1, 2))
	order := r.Perm(rows)
	s := op.NewSparse(op.RowSparse, dtype.Float32, dtype.Shape{rows, row})
	s.Pool()
	defer s.Free()
	next := 0
	for b.Loop() {
		if next+step > rows/4 {
			s.Empty()
			next = 0
		}
		var list []int64
		for _, id := range order[next : next+step] {
			list = append(list, int64(id))
		}
		slices.Sort(list)
		loop.InsertZeros(s, list)
		next += step
	}
}
