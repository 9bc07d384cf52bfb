package module

import (
	"encoding/json"
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
			_, err := parseRun(b)
			return err
		}}.Run(t)
}
