package main

import (
	"context"
	"testing"
)

// TestShort trains a smaller network than the program.
func TestShort(t *testing.T) {
	v, err := run(context.Background(), 12, 2)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v > 0.6 {
		t.Errorf("share %v of the memory, want at most 0.6", v)
	}
}
