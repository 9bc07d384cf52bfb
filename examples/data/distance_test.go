package data_test

import (
	"testing"

	"gomx/examples/data"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b []float32
		want int
	}{
		{nil, nil, 0},
		{nil, []float32{1, 2}, 2},
		{[]float32{1, 2, 3}, []float32{1, 3}, 1},
		{[]float32{1, 2, 3}, []float32{1, 4, 3}, 1},
		{[]float32{1, 2, 3}, []float32{2, 3, 4}, 2},
	} {
		if got := data.Distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %v and %v: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
