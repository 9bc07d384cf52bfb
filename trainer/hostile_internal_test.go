package trainer

import (
	"os"
	"path/filepath"
	"testing"

	"gomx/internal/hostile"
)

// TestHostileScaleJournals reads damaged journals of loss scales.
func TestHostileScaleJournals(t *testing.T) {
	j := scaleJournal{path: filepath.Join(t.TempDir(), "scale")}
	for _, e := range []scaleEvent{{3, 1024, 0}, {20, 512, 1}} {
		if err := j.add(e); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(j.path)
	if err != nil {
		t.Fatal(err)
	}
	hostile.Kind{Name: "journal of a loss scale", Seeds: [][]byte{file}, Text: true,
		Decode: func(b []byte) error {
			if err := os.WriteFile(j.path, b, 0o600); err != nil {
				return err
			}
			return (&scaleJournal{path: j.path}).load()
		}}.Run(t)
}
