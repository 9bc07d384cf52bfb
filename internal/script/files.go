package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/golden"
)

// Files plays every script in testdata as a test of its own and compares the answers with those in
// the file; with rewrite it writes them anew. stage returns the player of one script.
func Files(t *testing.T, rewrite bool,
	stage func(t *testing.T) func(out *strings.Builder, words []string)) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, file, Play(string(text), stage(t)), rewrite)
		})
	}
}
