package io_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

func newTable(t *testing.T, n int, c dataio.NDArrayConfig) *dataio.Table {
	t.Helper()
	c.Data = []*nd.Array{nd.FromSlice(ramp(n*2, 1), n, 2)}
	c.Label = []*nd.Array{nd.FromSlice(ramp(n, 1))}
	it, err := dataio.NDArrayIter(c)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// labels reads an epoch's labels, padding left out.
func labels(t *testing.T, it dataio.Iter) []float32 {
	t.Helper()
	var all []float32
	for b, err := range dataio.Epoch(context.Background(), it) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.Label[0].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		d, err := b.Data[0].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range v {
			if d[2*i] != 2*l || d[2*i+1] != 2*l+1 || b.Index[i] != int(l) {
				t.Fatalf("row %d: label %v, data %v, index %d", i, l, d[2*i:2*i+2], b.Index[i])
			}
		}
		all = append(all, v[:len(v)-b.Pad]...)
	}
	return all
}

// TestShuffle checks that an epoch is a permutation, another one each time, the same for a seed.
func TestShuffle(t *testing.T) {
	a := newTable(t, 20, dataio.NDArrayConfig{BatchSize: 3, Shuffle: true, Seed: 5})
	b := newTable(t, 20, dataio.NDArrayConfig{BatchSize: 3, Shuffle: true, Seed: 5})
	first, second, other := labels(t, a), labels(t, a), labels(t, b)
	if !slices.Equal(first, other) {
		t.Error("same seed: orders differ")
	}
	if slices.Equal(first, second) {
		t.Error("two epochs have the same order")
	}
	slices.Sort(first)
	if !slices.Equal(first, ramp(20, 1)) {
		t.Errorf("epoch %v is no permutation", first)
	}
}

// TestKeep checks that batches survive as long as promised.
func TestKeep(t *testing.T) {
	it := newTable(t, 40, dataio.NDArrayConfig{BatchSize: 4})
	it.Keep(5)
	var held []*dataio.Batch
	for range 6 {
		b, err := it.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
	}
	for i, b := range held {
		if v, err := b.Label[0].Float32s(); err != nil || v[0] != float32(4*i) ||
			b.Index[0] != 4*i {
			t.Errorf("batch %d begins with %v (%v), want %d", i, v[0], err, 4*i)
		}
	}
}

// TestPrefetch checks that a prefetched epoch is the plain one, that stopping midway is possible,
// and that errors arrive.
func TestPrefetch(t *testing.T) {
	plain := newTable(t, 33, dataio.NDArrayConfig{BatchSize: 4, Shuffle: true, Seed: 9})
	p, err := dataio.Prefetch(newTable(t, 33, dataio.NDArrayConfig{BatchSize: 4, Shuffle: true,
		Seed: 9}), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		if got, want := labels(t, p), labels(t, plain); !slices.Equal(got, want) {
			t.Fatalf("prefetched %v, want %v", got, want)
		}
	}
	if err := p.Reset(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := p.Reset(); err != nil {
		t.Fatal(err)
	}
	if got := labels(t, p); len(got) != 33 {
		t.Errorf("after a reset midway: %d samples, want 33", len(got))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Next(ctx); err == nil || !errors.Is(err, io.EOF) &&
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestConfigErrors checks that mistakes are named.
func TestConfigErrors(t *testing.T) {
	x, y := nd.FromSlice(ramp(10, 1), 5, 2), nd.FromSlice(ramp(4, 1))
	for _, c := range []struct {
		name string
		c    dataio.NDArrayConfig
		want string
	}{
		{"no data", dataio.NDArrayConfig{}, "no data"},
		{"lengths", dataio.NDArrayConfig{Data: []*nd.Array{x}, Label: []*nd.Array{y}},
			"softmax_label has 4 samples, data has 5"},
		{"names", dataio.NDArrayConfig{Data: []*nd.Array{x}, DataNames: []string{"a", "b"}},
			"2 names for 1 arrays"},
		{"discard", dataio.NDArrayConfig{Data: []*nd.Array{x}, BatchSize: 6,
			LastBatch: dataio.Discard}, "discard would give no batch"},
	} {
		if _, err := dataio.NDArrayIter(c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := dataio.MNISTIter(dataio.MNISTConfig{Image: "no-such-file"}); err == nil ||
		!strings.Contains(err.Error(), "no-such-file") {
		t.Errorf("missing file: %v", err)
	}
}

// BenchmarkNext measures a batch of 64 images of 28×28.
func BenchmarkNext(b *testing.B) {
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(
		make([]float32, 640*784), 640, 784)}, BatchSize: 64})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := it.Next(ctx); err != nil {
			if err := it.Reset(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
