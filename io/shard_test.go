package io_test

import (
	"slices"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// TestShard compares the parts of several epochs with the whole.
func TestShard(t *testing.T) {
	for _, last := range []dataio.LastBatch{dataio.Pad, dataio.Discard, dataio.Round, dataio.RollOver} {
		for _, parts := range []int{1, 2, 3} {
			open := func() *dataio.Table {
				values := make([]float32, 23)
				for i := range values {
					values[i] = float32(i)
				}
				it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(values)}, BatchSize: 3, Shuffle: true, Seed: 4, LastBatch: last})
				if err != nil {
					t.Fatal(err)
				}
				return it
			}
			whole := open()
			shards := make([]*dataio.Table, parts)
			for p := range shards {
				shards[p] = open()
				if err := shards[p].Shard(p, parts); err != nil || !shards[p].Sharded() {
					t.Fatal(err)
				}
			}
			for epoch := range 3 {
				var want [][]int
				for b, err := range whole.Epoch() {
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, slices.Clone(b.Index))
				}
				want = want[:len(want)-len(want)%parts]
				for p, it := range shards {
					n := 0
					if got := it.Batches(); epoch == 0 && got != len(want)/parts {
						t.Errorf("%v, part %d of %d: %d batches, want %d", last, p, parts, got, len(want)/parts)
					}
					for b, err := range it.Epoch() {
						if err != nil {
							t.Fatal(err)
						}
						if i := n*parts + p; i >= len(want) || !slices.Equal(b.Index, want[i]) {
							t.Fatalf("%v, epoch %d, part %d of %d, batch %d: %v, want %v", last, epoch, p, parts, n, b.Index, want)
						}
						n++
					}
					if n != len(want)/parts {
						t.Errorf("%v, epoch %d, part %d of %d: %d batches, want %d", last, epoch, p, parts, n, len(want)/parts)
					}
				}
			}
		}
	}
}

func TestShardMistakes(t *testing.T) {
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.Zeros(nd.Shape{4})}, BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]int{{0, 0}, {-1, 2}, {2, 2}, {0, 3}} {
		if err := it.Shard(c[0], c[1]); err == nil {
			t.Errorf("part %d of %d: no error", c[0], c[1])
		}
	}
}
