package io_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

func ExampleBucketSentenceIter() {
	it, err := dataio.BucketSentenceIter(dataio.BucketSentenceConfig{
		Sentences: [][]int{{1, 2, 3}, {4, 5}, {6, 7, 8, 9}, {1, 2}, {3, 4, 5}, {6, 7, 8, 9, 1, 2}},
		BatchSize: 2, Buckets: []int{2, 4}, Seed: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for b, err := range it.Epoch() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Bucket, b.Data[0].Shape())
	}
	fmt.Println(it.DefaultBucket(), it.Batches(), it.Dropped())
	// Output:
	// 2 (2, 2)
	// 4 (2, 4)
	// 4 2 1
}

// TestBucketSentences looks at every batch of two epochs: each sentence comes once in its bucket,
// filled up, with the words after as labels.
func TestBucketSentences(t *testing.T) {
	var sentences [][]int
	for i := range 50 {
		s := make([]int, 1+i%7)
		for k := range s {
			s[k] = 100*i + k
		}
		sentences = append(sentences, s)
	}
	for _, timeMajor := range []bool{false, true} {
		it, err := dataio.BucketSentenceIter(dataio.BucketSentenceConfig{Sentences: sentences,
			BatchSize: 3, Buckets: []int{6, 3, 3}, Invalid: -1, TimeMajor: timeMajor, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		var orders []string
		for range 2 {
			seen := map[int]bool{}
			order := ""
			for b, err := range it.Epoch() {
				if err != nil {
					t.Fatal(err)
				}
				length := b.Bucket.(int)
				order += fmt.Sprint(length, " ")
				words, labels := sequences(t, b.Data[0], length, timeMajor),
					sequences(t, b.Label[0], length, timeMajor)
				for i := range words {
					n := int(words[i][0]) / 100
					if seen[n] {
						t.Errorf("sentence %d comes twice", n)
					}
					seen[n] = true
					if want, _ := slices.BinarySearch([]int{3, 6},
						len(sentences[n])); length != []int{3, 6}[want] {
						t.Errorf("a sentence of %d words is in bucket %d", len(sentences[n]),
							length)
					}
					for k := range length {
						word, next := float32(-1), float32(-1)
						if k < len(sentences[n]) {
							word = float32(sentences[n][k])
						}
						if k+1 < len(sentences[n]) {
							next = float32(sentences[n][k+1])
						}
						if words[i][k] != word || labels[i][k] != next {
							t.Fatalf("sentence %d, word %d: got %v with label %v, want %v and %v",
								n, k, words[i][k], labels[i][k], word, next)
						}
					}
				}
			}
			orders = append(orders, order)
			if len(seen) != 3*it.Batches() {
				t.Errorf("%d sentences in %d batches of 3", len(seen), it.Batches())
			}
		}
		if orders[0] == orders[1] {
			t.Errorf("both epochs have the buckets in the order %s", orders[0])
		}
		it.SetEpoch(0)
		again := ""
		for {
			b, err := it.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			again += fmt.Sprint(b.Bucket, " ")
		}
		if again != orders[0] {
			t.Errorf("epoch 0 again: got %s, want %s", again, orders[0])
		}
		if d := it.ProvideData()[0]; d.Name != "data" || d.Shape.Size() != 18 ||
			it.Dropped() != 7 || !slices.Equal(it.Buckets(), []int{3, 6}) {
			t.Errorf("provides %v, dropped %d, buckets %v", d, it.Dropped(), it.Buckets())
		}
	}
}

// sequences returns the sentences of a batch.
func sequences(t *testing.T, a *nd.Array, length int, timeMajor bool) [][]float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	n := len(v) / length
	list := make([][]float32, n)
	for i := range list {
		for k := range length {
			at := i*length + k
			if timeMajor {
				at = k*n + i
			}
			list[i] = append(list[i], v[at])
		}
	}
	return list
}

func TestBucketSentencesKeepBatches(t *testing.T) {
	it, err := dataio.BucketSentenceIter(
		dataio.BucketSentenceConfig{Sentences: slices.Repeat([][]int{{1}}, 20), BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	it.Keep(4)
	var last []*dataio.Batch
	for b, err := range it.Epoch() {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(last[max(0, len(last)-4):], b) {
			t.Fatalf("batch %d is one of the four before", len(last))
		}
		last = append(last, b)
	}
	if len(last) != 10 || it.BatchSize() != 2 || it.ProvideLabel()[0].Name != "softmax_label" {
		t.Errorf("got %d batches of %d with labels %v", len(last), it.BatchSize(),
			it.ProvideLabel())
	}
}

func TestBucketSentencesFail(t *testing.T) {
	for _, tt := range []struct {
		c    dataio.BucketSentenceConfig
		want string
	}{
		{dataio.BucketSentenceConfig{}, "want one positive length"},
		{dataio.BucketSentenceConfig{Sentences: [][]int{{1}}, BatchSize: 2},
			"want one positive length"},
		{dataio.BucketSentenceConfig{Sentences: [][]int{{1}}, Buckets: []int{0}},
			"want one positive length"},
		{dataio.BucketSentenceConfig{Sentences: [][]int{{1}, {1, 2, 3}}, Buckets: []int{2},
			BatchSize: 2}, "no bucket of [2] has the 2 sentences of a batch; 1 of 2 are longer"},
	} {
		if _, err := dataio.BucketSentenceIter(tt.c); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.c, err, tt.want)
		}
	}
}
