package main

import (
	"context"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// TestShapes trains on fewer pictures than the program does.
func TestShapes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "found.png")
	ap, err := run(context.Background(), 800, 5, path)
	if err != nil {
		t.Fatal(err)
	}
	if ap < 0.9 {
		t.Errorf("mean average precision %v, want at least 0.9", ap)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}
