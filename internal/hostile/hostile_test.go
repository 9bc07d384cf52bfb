package hostile

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"
)

// TestFaultsAreSeen runs decoders with the faults that Run must report.
func TestFaultsAreSeen(t *testing.T) {
	file := binary.LittleEndian.AppendUint32(nil, 1<<30)
	for _, c := range []struct {
		name   string
		decode func([]byte) error
		want   string
	}{
		{"memory", func(b []byte) error {
			_ = make([]byte, binary.LittleEndian.Uint32(b))
			return nil
		}, "bytes allocated"},
		{"panic", func(b []byte) error { panic(len(b)) }, "panic: 4"},
		{"slow", func([]byte) error { time.Sleep(TimeLimit + time.Millisecond); return nil },
			"took"},
		{"right", func([]byte) error { return nil }, ""},
	} {
		fault, _ := Kind{Name: c.name, Decode: c.decode}.try(file)
		if (fault == "") != (c.want == "") || !strings.Contains(fault, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, fault, c.want)
		}
	}
}

// TestMutationsRepeat demands that a seed gives the same files, and that two seeds do not.
func TestMutationsRepeat(t *testing.T) {
	for _, k := range []Kind{
		{Seeds: [][]byte{make([]byte, 100), []byte("x")}},
		{Seeds: [][]byte{[]byte("1,2,30\n")}, Text: true},
	} {
		a, b, c := newMutator(k, 1), newMutator(k, 1), newMutator(k, 2)
		differ := 0
		for n := range 200 {
			x, _ := a.next(n)
			y, _ := b.next(n)
			z, _ := c.next(n)
			if string(x) != string(y) {
				t.Fatalf("mutation %d: %q and %q from one seed", n, x, y)
			}
			if string(x) != string(z) {
				differ++
			}
		}
		if differ < 50 {
			t.Errorf("%d of 200 mutations differ between two seeds", differ)
		}
	}
}
