package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	plain, changed, err := run(context.Background(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(plain, changed); plain < 0.5 || changed < 0.5 {
		t.Errorf("accuracies %v and %v, want at least 0.5", plain, changed)
	}
}
