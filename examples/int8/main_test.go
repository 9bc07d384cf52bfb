package main

import (
	"context"
	"testing"

	images "gomx/examples/data"
)

// TestDigits trains on the digits that are part of the program.
func TestDigits(t *testing.T) {
	float, integer, err := run(context.Background(), images.Digits(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(float, integer); integer < 0.88 || integer < float-0.02 {
		t.Errorf("accuracy %v in float32, %v in int8, want at least 0.88 and 0.02 less", float,
			integer)
	}
}
