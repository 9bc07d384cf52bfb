package main

import (
	"context"
	"path/filepath"
	"testing"

	"gomx/examples/data"
	"gomx/gluon"
	nd "gomx/ndarray"
)

// TestDigits trains on the digits that are part of the program, and reads the network again.
func TestDigits(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "digits")
	accuracy, err := run(context.Background(), data.Digits(), "", prefix)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy < 0.85 {
		t.Errorf("accuracy %v, want at least 0.85", accuracy)
	}
	net, err := gluon.Import(prefix+"-symbol.json", []string{"data"}, prefix+"-0000.params")
	if err != nil {
		t.Fatal(err)
	}
	if y := net.Forward(nd.Zeros(nd.Shape{1, 1, 8, 8})); !y.Shape().Equal(nd.Shape{1, 10}) {
		t.Errorf("scores of shape %v, want (1, 10)", y.Shape())
	}
}
