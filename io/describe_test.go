package io_test

import (
	"fmt"
	"testing"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// TestText wants iterators to print as a short description.
func TestText(t *testing.T) {
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.Zeros(nd.Shape{10, 3})},
		Label: []*nd.Array{nd.Zeros(nd.Shape{10})}, BatchSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	text := "<Table of data (4, 3), softmax_label (4,): 3 batches>"
	ahead, err := dataio.Prefetch(it, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer ahead.Close()
	var none *dataio.Table
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(it), text},
		{fmt.Sprintf("%+v", ahead), "<Prefetcher of " + text + ", 2 batches ahead>"},
		{fmt.Sprint(none), "<Table: nil>"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
