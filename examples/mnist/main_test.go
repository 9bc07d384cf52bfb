package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestDigits trains on the digits that are part of the program.
func TestDigits(t *testing.T) {
	out := t.TempDir()
	o := options{data: out, out: out, epochs: 5, batch: 32, seed: 1, lr: 0.1}
	if err := run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lenet-symbol.json", "lenet-0005.params", "curves.svg",
		"confusion.svg"} {
		if st, err := os.Stat(filepath.Join(out, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
