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
