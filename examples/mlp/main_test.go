package main

import (
	"testing"

	images "gomx/examples/data"
)

// TestDigits trains on the digits that are part of the program.
func TestDigits(t *testing.T) {
	v, err := run(images.Digits(), 20)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v < 0.85 {
		t.Errorf("accuracy %v, want at least 0.85", v)
	}
}
