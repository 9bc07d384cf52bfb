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
	Name  string
	Shape nd.Shape
	DType dtype.Type
}

// Batch is what one step of training or inference consumes. It belongs to the iterator; see the
// package documentation for how long its arrays stay valid.
type Batch struct {
	Data  []*nd.Array
	Label []*nd.Array
	Pad   int   // how many samples at the end only fill the batch up
	Index []int // position of each sample in the data set
	// Bucket says which bucket the samples belong to where batches have different shapes, such as
	// the length of sentences; it is comparable. Nil means the default bucket.
	Bucket any
}

// Iter hands out batches of a fixed size. The names and shapes it provides do not change; batches
// of other buckets than the default one have other shapes.
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

// Keeper is the ability of an iterator to leave a batch untouched for longer.
type Keeper interface {
	// Keep makes every batch stay valid during at least n further calls of Next.
	Keep(n int)
}

// Counter is the ability of an iterator to say how many batches an epoch has, for progress bars.
type Counter interface {
	Batches() int
}

// Epoch resets the iterator and returns the batches of one epoch for a range loop. An error ends
// the loop after it has been handed to the body.
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
