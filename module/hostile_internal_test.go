package module

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gomx/internal/hostile"
)

// TestHostileRunRecords reads damaged descriptions of runs, which are part of .resume files.
func TestHostileRunRecords(t *testing.T) {
	text, err := json.Marshal(someRun())
	if err != nil {
		t.Fatal(err)
	}
	hostile.Kind{Name: "description of a run", Seeds: [][]byte{text}, Text: true,
		Decode: func(b []byte) error {
			rec, err := parseRun(b)
			if err == nil {
				rec.History.history()
			}
			return err
		}}.Run(t)
}

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
