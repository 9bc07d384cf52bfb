package io_test

import (
	"context"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// TestViews checks that batches in order are views, made once, that outlive the caller's arrays,
// and that the padded last batch is a copy.
func TestViews(t *testing.T) {
	x := nd.FromSlice(ramp(10, 1), 5, 2)
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x}, BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	source := x.Var()
	var first [3]*dataio.Batch
	for epoch := range 2 {
		if err := it.Reset(); err != nil {
			t.Fatal(err)
		}
		for i := range first {
			b, err := it.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			shared := b.Data[0].Var() == source
			if want := i < 2; shared != want {
				t.Errorf("batch %d is a view: %v, want %v", i, shared, want)
			}
			if epoch == 1 && i < 2 && b != first[i] {
				t.Errorf("batch %d was made again", i)
			}
			first[i] = b
		}
	}
	x.Close()
	got, err := first[1].Data[0].Float32s()
	if err != nil || got[0] != 4 || got[3] != 7 {
		t.Errorf("after Close of the array: %v, %v", got, err)
	}
	if got, err = first[2].Data[0].Float32s(); err != nil || got[0] != 8 || got[2] != 0 ||
		first[2].Pad != 1 {
		t.Errorf("the padded batch is %v with padding %d, %v", got, first[2].Pad, err)
	}
}
