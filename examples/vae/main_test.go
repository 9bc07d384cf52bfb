package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	v, err := run(context.Background(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v > 34 {
		t.Errorf("bound %v, want at most 34", v)
	}
}
