//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/launch"
)

// TestMain lets the test's own binary be the command gomx.
func TestMain(m *testing.M) {
	if os.Getenv("GOMX_TEST_MAIN") != "" {
		main()
		os.Exit(0)
	}
	if os.Getenv(profiledPlay) != "" {
		playProfiled()
	}
	os.Exit(m.Run())
}

// process runs gomx as a process of its own, with a pipe as its standard error.
func process(t *testing.T, args ...string) (stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "GOMX_TEST_MAIN=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return errs.String(), cmd.ProcessState.ExitCode()
}

// TestErrorsAreText wants the error of a command as one line of text, with another line if there is
// a hint, and the documented exit code.
func TestErrorsAreText(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"lauch", 2, `gomx: unknown command "lauch": do you mean launch?`},
		{"--nope", 2, "gomx: unknown flag: --nope"},
		{"launch", 2, "gomx: no program"},
		{"launch -n 0 -- true", 2, "gomx: launch: 0 workers"},
		{"launch -n x -- true", 2, "gomx: invalid argument"},
		{"launch -n 1 -s -1 -- true", 2, "gomx: launch: -1 servers"},
		{"launch -n 1 --replicas 2 -- true", 2, "gomx: launch: 2 replicas"},
		{"launch -n 1 -- /nonexistent/program", 2, "gomx: launch: starting"},
		{"launch -n 1 --resume -- true", 2, "gomx: --resume without --snapshots"},
		{"launch -n 1 -- false", 1, "gomx: launch: "},
		{"top a b", 2, "gomx: 2 arguments"},
		{"bench-node", 2, "gomx: "},
	} {
		stderr, code := process(t, strings.Fields(c.args)...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if n := len(lines); n > 1 && strings.HasPrefix(lines[n-1], "hint: ") {
			lines = lines[:n-1]
		}
		if last := lines[len(lines)-1]; code != c.code || !strings.HasPrefix(last, c.want) {
			t.Errorf("gomx %s: exit code %d and %q, want %d and %q", c.args, code, stderr, c.code,
				c.want)
		}
	}
}

// TestLaunchCodes wants the exit codes of processes in the words of gomx launch.
func TestLaunchCodes(t *testing.T) {
	for code, want := range map[int]int{launch.ExitUsage: 2, launch.ExitLost: 75,
		launch.ExitReplaced: 75, 1: 1, 137: 137} {
		if got := exitCode(&launch.ExitError{Code: code}); got != want {
			t.Errorf("a process ended with %d: got %d, want %d", code, got, want)
		}
	}
}

// TestTopChooses wants top to show the only job that runs, and to ask which when there are two.
func TestTopChooses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := gomx(t, "top", "--once"); err == nil ||
		!strings.Contains(err.Error(), "found no running job of gomx launch") {
		t.Errorf("without a job: got %v", err)
	}
	begin := func(want int) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "launch", "-n", "1", "--", "sleep", "300")
		cmd.Env = append(os.Environ(), "GOMX_TEST_MAIN=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if jobs, err := launch.Jobs(); err == nil && len(jobs) == want {
				return cmd
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %d jobs after 20 s", want)
			}
		}
	}
	first := begin(1)
	jobs, err := launch.Jobs()
	if err != nil {
		t.Fatal(err)
	}
	addr := serveStatus(t, topSample())
	if err := os.WriteFile(filepath.Join(jobs[0].Dir, "status-scheduler"), []byte(addr),
		0o600); err != nil {
		t.Fatal(err)
	}
	out, err := gomx(t, "top", "--once")
	if err != nil || !strings.Contains(out, jobs[0].Dir) || !strings.Contains(out, "sleep 300") ||
		!strings.Contains(out, "view 7") {
		t.Errorf("with one job: got %q, %v, want it to be named and shown", out, err)
	}
	second := begin(2)
	_, err = gomx(t, "top", "--once")
	if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), jobs[0].Dir) {
		t.Fatalf("with two jobs: got %v, want an error that lists both", err)
	}
	for _, cmd := range []*exec.Cmd{first, second} {
		if !strings.Contains(err.Error(), "launcher "+strconv.Itoa(cmd.Process.Pid)) {
			t.Errorf("with two jobs: got %v, want launcher %d in it", err, cmd.Process.Pid)
		}
	}
	if out, err = gomx(t, "top", "--once", jobs[0].Dir); err != nil ||
		!strings.Contains(out, "view 7") {
		t.Errorf("with its folder: got %q, %v", out, err)
	}
}
