package training

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Lines come by the clock, with the time that is left at the present speed.
func TestCounterWritesLines(t *testing.T) {
	var b bytes.Buffer
	begin := time.Unix(1000, 0)
	now := begin
	c := &lineCounter{w: &b, what: "pictures", now: func() time.Time { return now }, begin: begin,
		last: begin}
	for done := 0; done <= 100; done += 5 { // two pictures a second
		now = begin.Add(time.Duration(done) * 500 * time.Millisecond)
		c.show(done, 100)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := []string{"20 of 100 pictures\tETA: 40s\t", "40 of 100 pictures\tETA: 30s\t",
		"60 of 100 pictures\tETA: 20s\t", "80 of 100 pictures\tETA: 10s\t",
		"100 of 100 pictures\tETA: 0s\t"}
	if len(lines) != len(want) {
		t.Fatalf("got %q, want %d lines", lines, len(want))
	}
	for i, l := range lines {
		if !strings.HasPrefix(l, want[i]) || !strings.Contains(l, "Memory: ") {
			t.Errorf("line %d is %q, want %q and the memory", i, l, want[i])
		}
	}
}
