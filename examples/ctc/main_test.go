package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	v, err := run(context.Background(), 250)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v < 0.5 {
		t.Errorf("%v of the digits are read, want at least 0.5", v)
	}
}

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
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %v and %v: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
