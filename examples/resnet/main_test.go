package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	v, err := run(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v < 0.65 {
		t.Errorf("accuracy %v, want at least 0.65", v)
	}
}
