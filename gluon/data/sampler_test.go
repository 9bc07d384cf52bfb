package data_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gomx/gluon/data"
	"gomx/internal/cluster"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

// TestBatchSampler compares batches with MXNet's rule, which keeps the samples left over as a list.
func TestBatchSampler(t *testing.T) {
	r := random(t)
	for range 200 {
		n, size := r.IntN(20), 1+r.IntN(8)
		s := data.RandomSampler{N: n, Seed: r.Uint64()}
		b := data.BatchSampler{Sampler: s, Size: size, Last: data.Last(r.IntN(3))}
		var left []int
		for epoch := range 2 * size {
			list := append(left, slices.Collect(s.Indices(epoch))...)
			var want [][]int
			for ; len(list) >= size; list = list[size:] {
				want = append(want, list[:size])
			}
			left = nil
			switch {
			case b.Last == data.RollOver:
				left = list
			case b.Last == data.Keep && len(list) > 0:
				want = append(want, list)
			}
			got := slices.Collect(b.Batches(epoch))
			if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) || b.Len(epoch) != len(want) {
				t.Fatalf("%v, epoch %d: got %v and length %d, want %v", b, epoch, got, b.Len(epoch),
					want)
			}
		}
	}
}

// TestRandomOrder compares the order of a loader with the order of an iterator of package io.
func TestRandomOrder(t *testing.T) {
	x := nd.Arange(0, 17, 1)
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x}, BatchSize: 1,
		Shuffle: true, Seed: 11})
	if err != nil {
		t.Fatal(err)
	}
	l := data.NewLoader(data.Arrays(x), 1, data.Shuffle(11))
	for epoch := range 3 {
		var want, got []int
		for b, err := range it.Epoch() {
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			want = append(want, b.Index...)
		}
		for b, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b.Index...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("epoch %d: got %v, want %v", epoch, got, want)
		}
	}
}

// TestRandomStreams looks at the random numbers of samples: they depend on the seed, the epoch and
// the sample, and on nothing else.
func TestRandomStreams(t *testing.T) {
	type key struct {
		seed          uint64
		epoch, sample int
	}
	seen := map[float32]key{}
	of := map[key]float32{}
	note := func(seed uint64, l *data.Loader) {
		for range 3 {
			e := l.Epoch()
			for _, rec := range epoch(t, l, -1) {
				for k, i := range rec.Index {
					at, v := key{seed, e, i}, rec.Data[2*k+1]
					if other, ok := seen[v]; ok && other != at {
						t.Fatalf("%v and %v have the same random number %v", at, other, v)
					}
					if old, ok := of[at]; ok && old != v {
						t.Fatalf("%v has the random numbers %v and %v", at, old, v)
					}
					seen[v], of[at] = at, v
				}
			}
		}
	}
	for seed := range uint64(3) {
		note(seed, data.NewLoader(numbers(20), 3, data.Seed(seed)))
		note(seed, data.NewLoader(numbers(20), 4, data.Shuffle(seed), data.Workers(3)))
		note(seed, data.NewLoader(numbers(20), 2, data.Seed(seed), data.Share(1, 3)))
	}
}

// TestInJob gives the workers of a job their shares.
func TestInJob(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 2})
	var counts [2][8]int
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		l := data.NewLoader(numbers(8), 2, data.InJob(ctx))
		for b, err := range l.Batches(ctx) {
			if err != nil {
				return err
			}
			for _, i := range b.Index {
				counts[rank][i]++
			}
		}
		return nil
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	for i := range counts[0] {
		if k := i / 2 % 2; counts[k][i] != 1 || counts[1-k][i] != 0 {
			t.Errorf("sample %d came %d times to worker 0, %d times to worker 1", i, counts[0][i],
				counts[1][i])
		}
	}
	if l := data.NewLoader(numbers(8), 2, data.InJob(ctx)); l.Len() != 4 {
		t.Errorf("%d batches without a job, want 4", l.Len())
	}
}

// TestAt reads samples without a loader.
func TestAt(t *testing.T) {
	d := data.New(3, func(_ context.Context, i int, r *rand.Rand) (float64, error) {
		return r.Float64(), nil
	})
	if a, b := list(t, d), list(t, d.Load(ctx)); !slices.Equal(a, b) {
		t.Errorf("got %v and %v, want the same without a loader", a, b)
	}
}
