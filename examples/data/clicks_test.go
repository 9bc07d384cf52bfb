package data_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/examples/data"
)

// TestClicks writes a log twice, and predicts its labels with the known weights.
func TestClicks(t *testing.T) {
	c := data.Clicks{Features: 1000, Fields: 5, Rank: 2, Seed: 3}
	var texts [3]string
	var best [3]float64
	for i, part := range []uint64{0, 0, 1} {
		path := filepath.Join(t.TempDir(), "clicks")
		var err error
		if best[i], err = c.Write(path, 2000, part); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	if texts[0] != texts[1] || texts[0] == texts[2] {
		t.Error("logs of one part differ, or logs of two parts do not")
	}
	lines := strings.Split(strings.TrimSpace(texts[0]), "\n")
	clicks := 0
	for _, line := range lines {
		clicks += int(line[0] - '0')
		if got := strings.Count(line, ":1"); got != c.Fields {
			t.Fatalf("%q has %d elements, want %d", line, got, c.Fields)
		}
	}
	share := float64(clicks) / float64(len(lines))
	without := -share*math.Log(share) - (1-share)*math.Log(1-share)
	if len(lines) != 2000 || best[0] > without-0.05 {
		t.Errorf("%d lines; the known weights have the loss %.3f, a constant %.3f", len(lines),
			best[0], without)
	}
	if _, err := (data.Clicks{Features: 3, Fields: 4}).Write(filepath.Join(t.TempDir(), "x"), 1,
		0); err == nil {
		t.Error("fewer features than fields: no error")
	}
}
