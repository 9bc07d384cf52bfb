package main

import (
	"context"
	"testing"
)

// TestShort trains for a shorter time than the program.
func TestShort(t *testing.T) {
	accuracy, err := run(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for typ, v := range accuracy {
		if t.Log(typ, v); v < 0.55 {
			t.Errorf("accuracy %v in %v, want at least 0.55", v, typ)
		}
	}
}
