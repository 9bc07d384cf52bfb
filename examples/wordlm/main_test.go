package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	v, err := run(context.Background(), "../../docs", 1)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v > 400 {
		t.Errorf("perplexity %v, want at most 400", v)
	}
}
