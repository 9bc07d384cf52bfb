//go:build cgo && linux

package launch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
	"gomx/launch"

	"github.com/rs/zerolog"
)

// snapshotJob runs a job of trainPlay with snapshots and returns its output.
func snapshotJob(t *testing.T, dir string, workers, steps int, resume bool, env ...string) (string,
	error) {
	t.Helper()
	return resizedJob(t, dir, slices.Repeat([]int{workers}, steps), resume, env...)
}

// resizedJob runs the last part of a job of which step i has counts[i] workers.
func resizedJob(t *testing.T, dir string, counts []int, resume bool, env ...string) (string,
	error) {
	t.Helper()
	workers, steps := counts[len(counts)-1], len(counts)
	var out output.Buffer
	l := trainJob(workers, 2, 2, steps, &out)
	l.Snapshots, l.Resume = dir, resume
	l.Log = zerolog.New(&out)
	l.Env = append(l.Env, env...)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	err := l.Run(ctx)
	if err == nil {
		checkSteps(t, out.String(), counts)
	}
	return out.String(), err
}

// TestResume ends a job behind a snapshot, and wants a second one that continues from it to end as
// one that was never interrupted.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	run := func(steps int, resume bool, env ...string) string {
		t.Helper()
		out, err := snapshotJob(t, dir, 3, steps, resume, env...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	if out := run(8, true, "LAUNCH_TEST_SNAPSHOT=5"); strings.Contains(out, "resumes") ||
		!strings.Contains(out, "the job begins anew") {
		t.Errorf("a job resumes though there was no snapshot:\n%s", out)
	}
	if out := run(9, true); strings.Count(out, "resumes at step 5\n") != 3 {
		t.Errorf("want three workers that resume at step 5:\n%s", out)
	}
	counts := append(slices.Repeat([]int{3}, 5), 2, 2, 2, 2)
	if out, err := resizedJob(t, dir, counts, true); err != nil ||
		strings.Count(out, "resumes at step 5\n") != 2 {
		t.Errorf("want two workers that resume at step 5, got %v:\n%s", err, out)
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "job-1", "snapshot-5", "shard-*"))
	for _, p := range parts {
		if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := snapshotJob(t, dir, 3, 9, true)
	if !errors.Is(err, launch.ErrUsage) || !strings.Contains(err.Error(), "all snapshots") ||
		!strings.Contains(err.Error(), "snapshot-5") {
		t.Errorf("got %v, want an error that names all snapshots and snapshot-5\n%s", err, out)
	}
}

// TestSnapshotsOfTwoJobs wants --resume to continue the newest job of a folder, never an older one.
func TestSnapshotsOfTwoJobs(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		resume  bool
		env     string
		resumes string // output of workers
		err     string
	}{
		{false, "LAUNCH_TEST_SNAPSHOT=6", "", ""},
		{false, "LAUNCH_TEST_SNAPSHOT=2", "", ""}, // a new job, which got less far
		{true, "", "resumes at step 2\n", ""},
		{false, "", "", ""}, // one without a snapshot
		{true, "", "", filepath.Join(dir, "job-2")},
	} {
		out, err := snapshotJob(t, dir, 1, 7, c.resume, c.env)
		if c.err != "" {
			if !errors.Is(err, launch.ErrUsage) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("run %d: got %v, want an error that names %s", i, err, c.err)
			}
			continue
		}
		if err != nil || strings.Contains(out, "resumes") != (c.resumes != "") ||
			!strings.Contains(out, c.resumes) {
			t.Errorf("run %d: got %v, want it to say %q:\n%s", i, err, c.resumes, out)
		}
	}
	if out, err := snapshotJob(t, filepath.Join(dir, "job-1"), 1, 7, true); err != nil ||
		!strings.Contains(out, "resumes at step 6\n") {
		t.Errorf("the first job by its own folder: got %v:\n%s", err, out)
	}
}

// TestServerOfAResumedJob kills a server of a job that has resumed, when the snapshot that it
// resumed from has been removed in favour of newer ones.
func TestServerOfAResumedJob(t *testing.T) {
	dir := t.TempDir()
	if out, err := snapshotJob(t, dir, 1, 5, false, "LAUNCH_TEST_SNAPSHOT=4"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const steps = 60
	var out output.Buffer
	l := trainJob(1, 2, 2, steps, &out)
	l.Snapshots, l.Resume = dir, true
	l.Env = append(l.Env, "LAUNCH_TEST_SNAPSHOTS=10", "LAUNCH_TEST_PAUSE=20ms")
	n := newNemesis()
	l.Started = n.started
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	eventually(t, "the third snapshot", func() bool {
		return strings.Contains(out.String(), "snapshot 30\n")
	})
	if list, _ := filepath.Glob(filepath.Join(dir, "job-1", "snapshot-4")); len(list) != 0 {
		t.Errorf("%v is still there", list)
	}
	n.signal(wire.Node{Role: wire.Server}, syscall.SIGKILL)
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	checkResults(t, out.String(), 1, steps)
	if n.starts[wire.Node{Role: wire.Server}] != 2 {
		t.Errorf("server 0 was started %d times, want 2:\n%s",
			n.starts[wire.Node{Role: wire.Server}], out.String())
	}
}
