package module_test

import (
	"fmt"
	"testing"

	dataio "gomx/io"
	"gomx/module"
	sym "gomx/symbol"
)

// counts is a language model that looks at single words. The network for short sentences lacks a
// layer.
func counts(bucket any) (*sym.Symbol, error) {
	length, ok := bucket.(int)
	if !ok {
		return nil, fmt.Errorf("%v is not a length", bucket)
	}
	x := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: words, OutputDim: 12},
		sym.Name("embed"))
	x = sym.Reshape(x, sym.ReshapeParams{Shape: []int{-1, 12}})
	if length > 4 {
		x = sym.Tanh(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 12},
			sym.Name("mix")))
	}
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: words}, sym.Name("decode"))
	label := sym.Reshape(sym.Var("softmax_label"), sym.ReshapeParams{Shape: []int{-1}})
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{UseIgnore: true,
		IgnoreLabel: sym.Some(-1.0)},
		sym.Name("softmax"), sym.With("label", label)), nil
}

func newCounts(t *testing.T, seed uint64) *module.BucketingModule {
	t.Helper()
	m, err := module.NewBucketing(counts, 12, module.Seed(seed))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBucketsOnServers: workers whose batches belong to different buckets in one round do bit for
// bit what one process does that adds up their gradients; parameters that a bucket's network lacks
// take part with gradients of zero.
func TestBucketsOnServers(t *testing.T) {
	var parts []dataio.Iter
	mixed := 0
	for rank := range 2 {
		p := counting()
		if err := p.Shard(rank, 2); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	for range parts[0].(*dataio.BucketSentences).Batches() {
		a, err := parts[0].Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := parts[1].Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if a.Bucket != b.Bucket {
			mixed++
		}
	}
	if mixed == 0 {
		t.Fatal("no round with batches of two buckets")
	}
	for _, p := range parts {
		p.(*dataio.BucketSentences).SetEpoch(0)
	}
	want := oneProcess(t, newCounts(t, 5).Module, 3, parts)
	got := fitJob(t, 2, 3, func(rank int) (fitter, dataio.Iter) {
		return newCounts(t,
			uint64(5+rank)), counting()
	})
	compareParams(t, got, want)
}

// TestBucketsWithUnequalData: a worker that has run out of batches takes part in the rounds of the
// others.
func TestBucketsWithUnequalData(t *testing.T) {
	open := func(rank int) *dataio.BucketSentences {
		it := counting()
		if err := it.Shard(0, 1+2*rank); err != nil { // it is this worker's share already
			t.Error(err)
		}
		return it
	}
	want := oneProcess(t, newCounts(t, 5).Module, 2, []dataio.Iter{open(0), open(1)})
	got := fitJob(t, 2, 2, func(rank int) (fitter, dataio.Iter) {
		return newCounts(t,
			uint64(5+rank)), open(rank)
	})
	compareParams(t, got, want)
}
