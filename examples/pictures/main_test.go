package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gomx/io/image"
)

// TestSheets writes the sheets of two epochs, which differ, twice.
func TestSheets(t *testing.T) {
	var sheets [2][2][]byte
	for k := range sheets {
		dir := t.TempDir()
		change, err := run("", dir, 2)
		if err != nil {
			t.Fatal(err)
		}
		if change < least || change == 1 {
			t.Errorf("the pixels of pictures have changed by %v, want %v to 1", change, least)
		}
		for i, name := range []string{"epoch0.png", "epoch1.png"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if m, err := image.Decode(b, image.RGB); err != nil || m.Width != 8*side {
				t.Fatalf("%s: %v, want eight pictures", name, err)
			}
			sheets[k][i] = b
		}
	}
	if bytes.Equal(sheets[0][0], sheets[0][1]) {
		t.Error("two epochs show the same pictures")
	}
	if !bytes.Equal(sheets[0][0], sheets[1][0]) {
		t.Error("two runs show different pictures")
	}
}
