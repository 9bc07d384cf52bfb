package io

import (
	"strings"
	"testing"
)

// FuzzText feeds lines to the decoder of indices.
func FuzzText(f *testing.F) {
	f.Add("1\t0\n4\t128\n")
	f.Add("1,2\n3,x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := ReadRecordIndex(strings.NewReader(text)); err == nil &&
			len(x.Keys) != len(x.Offset) {
			t.Errorf("%d keys, %d offsets", len(x.Keys), len(x.Offset))
		}
	})
}
