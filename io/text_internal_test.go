package io

import (
	"strings"
	"testing"
)

// FuzzText feeds lines to the decoders of text files.
func FuzzText(f *testing.F) {
	f.Add("1,2\n3,x\n")
	f.Add("1 0:2 1:3\n")
	f.Add("1\t0\n4\t128\n")
	f.Fuzz(func(t *testing.T, text string) {
		row := make([]float32, 3)
		_ = scanLines(strings.NewReader(text), func(line []byte) error {
			if v, err := appendCSV(nil, line, 2); err == nil && len(v) != 2 {
				t.Errorf("line %q has values %v, want 2", line, v)
			}
			_, err := parseLibSVM(line, row)
			return err
		})
		if x, err := ReadRecordIndex(strings.NewReader(text)); err == nil &&
			len(x.Keys) != len(x.Offset) {
			t.Errorf("%d keys, %d offsets", len(x.Keys), len(x.Offset))
		}
	})
}
