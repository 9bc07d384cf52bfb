package io_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/dtype"
	dataio "gomx/io"
	"gomx/io/image"
	nd "gomx/ndarray"
)

var stateSeed = flag.Uint64("state.seed", 0, "seed of TestState, 0 for one from the clock")

// resumable are iterators of every kind, by name. Each call makes a new one.
func resumable(t *testing.T) map[string]func() dataio.Iter {
	rec := pictureFile(t, 11)
	list := map[string]func() dataio.Iter{}
	add := func(name string, open func() (dataio.Iter, error)) {
		list[name] = func() dataio.Iter {
			it, err := open()
			if err != nil {
				t.Fatal(err)
			}
			return it
		}
	}
	for _, last := range []dataio.LastBatch{dataio.Pad, dataio.Discard, dataio.RollOver,
		dataio.Round} {
		for _, shuffle := range []bool{false, true} {
			open := func() (dataio.Iter, error) {
				return dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.Arange(0, 23,
					1)}, BatchSize: 5, Shuffle: shuffle, Seed: 3, LastBatch: last})
			}
			add(fmt.Sprintf("arrays %v shuffle %v", last, shuffle), open)
			add(fmt.Sprintf("prefetched arrays %v shuffle %v", last, shuffle),
				func() (dataio.Iter, error) {
					it, err := open()
					if err != nil {
						return nil, err
					}
					return dataio.Prefetch(it, 2)
				})
			add(fmt.Sprintf("part of arrays %v shuffle %v", last, shuffle),
				func() (dataio.Iter, error) {
					it, err := open()
					if err == nil {
						err = it.(dataio.Sharder).Shard(1, 2)
					}
					return it, err
				})
		}
	}
	add("pictures", func() (dataio.Iter, error) {
		return dataio.ImageRecordIter(dataio.ImageRecordConfig{Path: rec, DataShape: nd.Shape{3, 8,
			8}, BatchSize: 3, Shuffle: true, Seed: 4,
			DType: dtype.Float32, Augment: image.Augment{RandCrop: true},
			Normalize: dataio.Normalize{RandMirror: true, MaxRandomContrast: 0.3}})
	})
	for name, open := range imageIters(rec, objectFile(t, 7), 2) {
		add(name, open)
	}
	clicks, labels, _, _ := clickFile(t, 23, 5)
	for _, part := range []int{0, 1} {
		for _, shuffle := range []bool{false, true} {
			add(fmt.Sprintf("part %d of clicks, shuffle %v", part, shuffle),
				func() (dataio.Iter, error) {
					return dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: dataio.TextConfig{
						Data: clicks, DataShape: nd.Shape{5}, BatchSize: 3, Shuffle: shuffle,
						NumParts: 2, PartIndex: part}})
				})
		}
	}
	add("csr arrays", func() (dataio.Iter, error) {
		stored := nd.Arange(0, 46, 1).Reshape(23, 2).ToStorage(nd.CSR)
		return dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{stored}, BatchSize: 4,
			Shuffle: true, Seed: 6, LastBatch: dataio.RollOver})
	})
	add("prefetched clicks", func() (dataio.Iter, error) {
		it, err := dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: dataio.TextConfig{
			Data: clicks, Label: labels, DataShape: nd.Shape{5}, LabelShape: nd.Shape{3},
			BatchSize: 3, Shuffle: true}})
		if err != nil {
			return nil, err
		}
		return dataio.Prefetch(it, 2)
	})
	var sentences [][]int
	for i := range 60 {
		sentences = append(sentences, slices.Repeat([]int{i}, 2+i%5))
	}
	add("sentences", func() (dataio.Iter, error) {
		return dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: sentences,
			BatchSize: 4, Buckets: []int{3, 6}, Seed: 9})
	})
	add("prefetched sentences", func() (dataio.Iter, error) {
		it, err := dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: sentences,
			BatchSize: 4, Buckets: []int{3, 6}, Seed: 9})
		if err != nil {
			return nil, err
		}
		return dataio.Prefetch(it, 3)
	})
	return list
}

// seen takes batches of an iterator, the ends of epochs among them, and describes each.
func seen(t *testing.T, it dataio.Iter, calls int) (list []string) {
	t.Helper()
	for range calls {
		b, err := it.Next(context.Background())
		if errors.Is(err, io.EOF) {
			list = append(list, "end")
			err = it.Reset()
		} else if err == nil {
			values, err := b.Data[0].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(b.Index, b.Pad, b.Bucket, values))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestState resumes iterators at random positions and wants the batches of an undisturbed iterator,
// whether the batches before were read or skipped.
func TestState(t *testing.T) {
	seed := *stateSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const calls = 40
	for name, open := range resumable(t) {
		t.Run(name, func(t *testing.T) {
			want := seen(t, open(), calls)
			for range 12 {
				at := r.IntN(calls)
				first, second := open(), open()
				seen(t, first, at)
				state, err := first.(dataio.Stateful).State()
				if err != nil {
					t.Fatal(err)
				}
				seen(t, second, r.IntN(5)) // wherever it has been
				if err := second.(dataio.Stateful).SetState(state); err != nil {
					t.Fatalf("after %d calls: %v", at, err)
				}
				again, err := second.(dataio.Stateful).State()
				if err != nil {
					t.Fatal(err)
				}
				third := open()
				if err := third.(dataio.Stateful).SetState(again); err != nil {
					t.Fatal(err)
				}
				for _, it := range []dataio.Iter{second, third, first} {
					if got := seen(t, it, calls-at); !slices.Equal(got, want[at:]) {
						t.Fatalf("after %d calls, state %s:\ngot  %s\nwant %s", at, state,
							strings.Join(got, "\n"), strings.Join(want[at:], "\n"))
					}
				}
				skipped := open()
				for i := 0; i < at; {
					// to the end of the epoch
					n := 1 + slices.Index(append(slices.Clone(want[i:at]), "end"), "end")
					n = min(n, at-i)
					err := dataio.Skip(context.Background(), skipped, n)
					if i += n; errors.Is(err, io.EOF) {
						err = skipped.Reset()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if got := seen(t, skipped, calls-at); !slices.Equal(got, want[at:]) {
					t.Fatalf("after %d batches that are skipped:\ngot  %s\nwant %s", at,
						strings.Join(got, "\n"), strings.Join(want[at:], "\n"))
				}
			}
		})
	}
}

// TestStateOfAnother gives iterators states that are not theirs.
func TestStateOfAnother(t *testing.T) {
	list := resumable(t)
	for name, open := range list {
		it := open().(dataio.Stateful)
		for other, openOther := range list {
			state, err := openOther().(dataio.Stateful).State()
			if err != nil {
				t.Fatal(err)
			}
			if err := it.SetState(state); (err == nil) != (name == other) {
				t.Errorf("%s takes the state of %s: %v", name, other, err)
			}
		}
	}
}

// FuzzState looks for states that an iterator takes and cannot go on from.
func FuzzState(f *testing.F) {
	var sentences [][]int
	for i := range 20 {
		sentences = append(sentences, slices.Repeat([]int{i}, 2+i%3))
	}
	open := func() []dataio.Stateful {
		table, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.Arange(0, 7, 1)},
			BatchSize: 3, Shuffle: true, LastBatch: dataio.RollOver})
		if err != nil {
			f.Fatal(err)
		}
		bucket, err := dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: sentences,
			BatchSize: 3})
		if err != nil {
			f.Fatal(err)
		}
		ahead, err := dataio.Prefetch(table, 1)
		if err != nil {
			f.Fatal(err)
		}
		return []dataio.Stateful{ahead, bucket}
	}
	stop := func(list []dataio.Stateful) { _ = list[0].(*dataio.Prefetcher).Close() }
	for _, it := range open() {
		for range 2 {
			state, err := it.State()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(state)
			if _, err := it.(dataio.Iter).Next(context.Background()); err != nil &&
				!errors.Is(err, io.EOF) {
				f.Fatal(err)
			}
		}
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		list := open()
		defer stop(list)
		for _, it := range list {
			if it.SetState(state) != nil {
				continue
			}
			for range 9 {
				_, err := it.(dataio.Iter).Next(context.Background())
				if errors.Is(err, io.EOF) {
					err = it.(dataio.Iter).Reset()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
