package main

import (
	"context"
	"testing"

	images "gomx/examples/data"
)

// TestShort paints a digit in a shorter time than the program.
func TestShort(t *testing.T) {
	style, content, err := run(context.Background(), images.Digits(), "", 60)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(style, content); style > 0.5 || content > 0.9 {
		t.Errorf("distances %v and %v, want at most 0.5 and 0.9", style, content)
	}
}
