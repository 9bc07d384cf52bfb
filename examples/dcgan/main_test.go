package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	drawn, written, err := run(context.Background(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(drawn, written); drawn < 2.5 || written < 8 {
		t.Errorf("scores %v and %v, want at least 2.5 and 8", drawn, written)
	}
}
