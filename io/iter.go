package io

import (
	"context"
	"errors"
	"io"
	"iter"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// Desc describes one array that an iterator provides, the batch axis included.
type Desc struct {
	Name    string
	Shape   nd.Shape
	DType   dtype.Type
	Storage nd.Storage
}

// Batch is the input of one step of training or inference. It belongs to the iterator; the package
// documentation says how long its arrays stay valid.
type Batch struct {
	Data  []*nd.Array
	Label []*nd.Array
	Pad   int   // number of samples at the end that only fill the batch up
	Index []int // position of each sample in the data set
	// Bucket identifies the bucket of the samples where batches have different shapes; it may be
	// the length of sentences. It is comparable. Nil means the default bucket.
	Bucket any
}

// Iter returns batches of a fixed size. The names and shapes that it provides do not change;
// batches of other buckets than the default bucket have other shapes.
type Iter interface {
	// Next returns the next batch, io.EOF at the end of the epoch.
	Next(ctx context.Context) (*Batch, error)
	// Reset begins the next epoch. On an iterator that has not been used since the last Reset it
	// does nothing.
	Reset() error
	ProvideData() []Desc
	ProvideLabel() []Desc
	BatchSize() int
}

// Keeper is the ability of an iterator to keep batches valid for longer.
type Keeper interface {
	// Keep makes every batch stay valid during at least n further calls of Next.
	Keep(n int)
}

// Counter is the ability of an iterator to count the batches of an epoch, for progress bars.
type Counter interface {
	Batches() int
}

// Epoch resets the iterator and returns the batches of one epoch for a range loop. An error is
// passed to the body of the loop, and then the loop ends.
func Epoch(ctx context.Context, it Iter) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if err := it.Reset(); err != nil {
			yield(nil, err)
			return
		}
		for {
			b, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
