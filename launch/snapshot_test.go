//go:build cgo && linux

package launch_test

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestResume ends a job behind a snapshot, and wants a second one that continues from it to end as one that was never interrupted.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	run := func(steps int, resume bool, env ...string) string {
		t.Helper()
		var out safeBuffer
		l := trainJob(3, 2, 2, steps, &out)
		l.Snapshots, l.Resume = dir, resume
		l.Env = append(l.Env, env...)
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		if err := l.Run(ctx); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		checkResults(t, out.String(), 3, steps)
		return out.String()
	}
	if out := run(8, true, "LAUNCH_TEST_SNAPSHOT=5"); strings.Contains(out, "resumes") {
		t.Errorf("a job resumes though there was no snapshot:\n%s", out)
	}
	if out := run(9, true); strings.Count(out, "resumes at step 5\n") != 3 {
		t.Errorf("want three workers that resume at step 5:\n%s", out)
	}
	run(3, false)
}
