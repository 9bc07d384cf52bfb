package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestTrace profiles some steps and looks into the trace.
func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	v, err := run(context.Background(), path, 5)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(v); v <= 0 || !bytes.Contains(text, []byte("Convolution")) {
		t.Errorf("share %v and a trace of %d bytes, want a share and convolutions", v, len(text))
	}
}
