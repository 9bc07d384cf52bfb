package main

import (
	"testing"

	"gomx/device"
	"gomx/examples/data"
)

// TestDigits trains on the digits that are part of the program.
func TestDigits(t *testing.T) {
	accuracy, err := run(data.Digits(), 20, 50, 0.5, device.CPU())
	if err != nil {
		t.Fatal(err)
	}
	if accuracy < 0.85 {
		t.Errorf("accuracy %v, want at least 0.85", accuracy)
	}
}
