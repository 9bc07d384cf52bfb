package main

import (
	"context"
	"testing"

	"gomx/examples/data"
)

// TestDigits trains on the digits that are part of the program.
func TestDigits(t *testing.T) {
	accuracy, err := run(context.Background(), data.Digits(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy < 0.93 {
		t.Errorf("accuracy %v, want at least 0.93", accuracy)
	}
}
