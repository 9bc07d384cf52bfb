package io_test

import (
	"context"
	"slices"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// TestFewSamples makes batches that are larger than the data set.
func TestFewSamples(t *testing.T) {
	for last, ok := range map[dataio.LastBatch]bool{dataio.Pad: true, dataio.Round: true,
		dataio.Discard: false, dataio.RollOver: false} {
		it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(
			[]float32{1, 2, 3})}, BatchSize: 8, LastBatch: last})
		if (err == nil) != ok {
			t.Errorf("%v: %v", last, err)
		}
		if !ok || err != nil {
			continue
		}
		b, err := it.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if v, err := b.Data[0].Float32s(); err != nil || b.Pad != 5 ||
			!slices.Equal(v, []float32{1, 2, 3, 1, 2, 3, 1, 2}) {
			t.Errorf("%v: got %v with %d of padding, %v", last, v, b.Pad, err)
		}
	}
}
