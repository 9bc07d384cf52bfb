package io_test

import (
	"fmt"
	"iter"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// sharded is an iterator whose epochs can be divided.
type sharded interface {
	dataio.Sharder
	Batches() int
	Epoch() iter.Seq2[*dataio.Batch, error]
}

// TestShard compares the parts of several epochs with the whole.
func TestShard(t *testing.T) {
	for _, last := range []dataio.LastBatch{dataio.Pad, dataio.Discard, dataio.Round,
		dataio.RollOver} {
		t.Run(last.String(), func(t *testing.T) {
			checkShards(t, func() (sharded, error) {
				values := make([]float32, 23)
				for i := range values {
					values[i] = float32(i)
				}
				return dataio.NDArrayIter(
					dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(values)}, BatchSize: 3,
						Shuffle: true, Seed: 4, LastBatch: last})
			})
		})
	}
	t.Run("buckets", func(t *testing.T) {
		checkShards(t, func() (sharded, error) {
			sentences := make([][]int, 41)
			for i := range sentences {
				sentences[i] = make([]int, 1+i%5)
			}
			return dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: sentences,
				BatchSize: 3, Buckets: []int{2, 5}, Seed: 4})
		})
	})
}

func checkShards(t *testing.T, open func() (sharded, error)) {
	for _, parts := range []int{1, 2, 3} {
		whole, err := open()
		if err != nil {
			t.Fatal(err)
		}
		shards := make([]sharded, parts)
		for p := range shards {
			if shards[p], err = open(); err != nil {
				t.Fatal(err)
			}
			if err := shards[p].Shard(p, parts); err != nil || !shards[p].Sharded() {
				t.Fatal(err)
			}
		}
		for epoch := range 3 {
			want := batchesOf(t, whole)
			want = want[:len(want)-len(want)%parts]
			for p, it := range shards {
				if got := it.Batches(); epoch == 0 && got != len(want)/parts {
					t.Errorf("part %d of %d: %d batches, want %d", p, parts, got, len(want)/parts)
				}
				got := batchesOf(t, it)
				for n := range got {
					if i := n*parts + p; i >= len(want) || got[n] != want[i] {
						t.Fatalf("epoch %d, part %d of %d, batch %d: %v, want those of %v", epoch,
							p, parts, n, got[n], want)
					}
				}
				if len(got) != len(want)/parts {
					t.Errorf("epoch %d, part %d of %d: %d batches, want %d", epoch, p, parts,
						len(got), len(want)/parts)
				}
			}
		}
	}
}

// batchesOf describes the batches of an epoch by buckets and samples.
func batchesOf(t *testing.T, it sharded) (list []string) {
	t.Helper()
	for b, err := range it.Epoch() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(b.Bucket, b.Index))
	}
	return list
}

func TestShardMistakes(t *testing.T) {
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.Zeros(nd.Shape{4})},
		BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]int{{0, 0}, {-1, 2}, {2, 2}, {0, 3}} {
		if err := it.Shard(c[0], c[1]); err == nil {
			t.Errorf("part %d of %d: no error", c[0], c[1])
		}
	}
}
