package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	old, fresh, err := run(context.Background(), "testdata/digits", 20)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(old, fresh); old < 0.75 {
		t.Errorf("accuracy %v, want at least 0.75", old)
	}
}
