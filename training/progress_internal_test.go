package training

import (
	"strings"
	"testing"
	"time"
)

// TestClock writes lines by the clock: every batch of a slow run, few of a fast one.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		batch time.Duration // that a batch takes
		want  []string
	}{
		{30 * time.Second, []string{"[1/4]", "[2/4]", "[3/4]", "[4/4]"}},
		{6 * time.Second, []string{"[2/4]", "[4/4]"}},
		{time.Millisecond, nil},
	} {
		var out strings.Builder
		var now time.Time
		p := &clock{w: &out, batches: 4, every: linesEvery, now: func() time.Time { return now }}
		p.Begin(0)
		for n := range 4 {
			now = now.Add(c.batch)
			p.Batch(&BatchEnd{Batch: n, Samples: 60,
				Scores: func() Scores { return Scores{{"accuracy", 0.5}} },
				Window: func() Scores {
					t.Error(
						"lines by the clock take the window of the history")
					return nil
				}})
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if out.Len() == 0 {
			lines = nil
		}
		if len(lines) != len(c.want) {
			t.Fatalf("a batch takes %v: got %q, want %v", c.batch, lines, c.want)
		}
		for i, l := range lines {
			if !strings.Contains(l, c.want[i]) || !strings.Contains(l, "accuracy=0.5") ||
				c.batch == 30*time.Second && !strings.Contains(l, "Speed: 2.00 ") {
				t.Errorf("line %q, want %s", l, c.want[i])
			}
		}
	}
}
