//go:build unix

package launch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/kvstore/wire"
	"gomx/launch"
)

// TestMain lets the test's own binary play the processes of a job.
func TestMain(m *testing.M) {
	if play := os.Getenv("LAUNCH_TEST_PLAY"); play != "" {
		os.Exit(plays[play](os.Getenv("DMLC_ROLE"), os.Getenv("LAUNCH_TEST_DIR")))
	}
	os.Exit(m.Run())
}

// plays are the programs. They return an exit code.
var plays = map[string]func(role, dir string) int{
	"work": func(role, _ string) int {
		if role != "worker" {
			time.Sleep(time.Hour)
		}
		fmt.Printf("working as %s of %s\nsecond line", os.Getenv("DMLC_WORKER_ID"),
			os.Getenv("DMLC_NUM_WORKER"))
		return 0
	},
	"die once": func(role, dir string) int {
		name := filepath.Join(dir, role+os.Getenv("DMLC_WORKER_ID")+os.Getenv("DMLC_SERVER_ID"))
		if os.WriteFile(name, nil, 0o600) == nil && os.Link(name, name+".once") == nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if role == "worker" {
			for { // until everybody has died once
				if list, _ := filepath.Glob(filepath.Join(dir, "*.once")); len(list) == 5 {
					return 0
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		time.Sleep(time.Hour)
		return 0
	},
	"die always": func(role, _ string) int { return 9 },
	"over": func(role, _ string) int {
		if role == "server" {
			time.Sleep(time.Hour)
		}
		return 0
	},
	"fail": func(role, _ string) int {
		if role == "worker" && os.Getenv("DMLC_WORKER_ID") == "1" {
			return launch.ExitFailed
		}
		time.Sleep(time.Hour)
		return 0
	},
	"hang with child": func(role, dir string) int {
		child := exec.Command("sleep", "3600")
		if err := child.Start(); err != nil {
			return 1
		}
		name := filepath.Join(dir, strconv.Itoa(child.Process.Pid))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return 1
		}
		time.Sleep(time.Hour)
		return 0
	},
}

// local returns a job of 2 workers and 2 servers that plays.
func local(t *testing.T, play string, out *bytes.Buffer) (l launch.Local, dir string) {
	t.Helper()
	dir = t.TempDir()
	return launch.Local{
		Program: []string{os.Args[0]}, Workers: 2, Servers: 2, Stdout: out, Stderr: out,
		Grace: 200 * time.Millisecond,
		Env:   []string{"LAUNCH_TEST_PLAY=" + play, "LAUNCH_TEST_DIR=" + dir},
	}, dir
}

func TestOutputAndEnd(t *testing.T) {
	var out bytes.Buffer
	l, _ := local(t, "work", &out)
	l.Servers = 1 // ends by force: shorter
	var mu sync.Mutex
	var started []string
	l.Started = func(n wire.Node, _ int) {
		mu.Lock()
		defer mu.Unlock()
		started = append(started, n.String())
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[worker 0] working as 0 of 2\n",
		"[worker 1] working as 1 of 2\n", "[worker 0] second line\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output %q lacks %q", out.String(), want)
		}
	}
	slices.Sort(started)
	if got := strings.Join(started, ", "); got != "scheduler, server 0, worker 0, worker 1" {
		t.Errorf("started %s", got)
	}
}

func TestTheDeadAreStartedAgain(t *testing.T) {
	var out bytes.Buffer
	l, _ := local(t, "die once", &out)
	var mu sync.Mutex
	runs := map[wire.Node]int{}
	l.Started = func(n wire.Node, _ int) {
		mu.Lock()
		defer mu.Unlock()
		runs[n]++
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n, k := range runs {
		if k != 2 {
			t.Errorf("%s ran %d times, want 2", n, k)
		}
	}
}

func TestGivingUp(t *testing.T) {
	for play, want := range map[string]launch.ExitError{
		"die always": {Code: 9, Runs: 2},
		"fail": {Node: wire.Node{Role: wire.Worker, Rank: 1}, Code: launch.ExitFailed,
			Runs: 1},
	} {
		var out bytes.Buffer
		l, _ := local(t, play, &out)
		l.Restarts = 1
		err := l.Run(t.Context())
		var exit *launch.ExitError
		if !errors.As(err, &exit) || exit.Code != want.Code || exit.Runs != want.Runs ||
			!want.Node.IsZero() && exit.Node != want.Node {
			t.Errorf("%s: %v, want code %d after %d runs", play, err, want.Code, want.Runs)
		}
	}
}

// TestNothingIsLeft ends a job from outside and looks for its processes, children's children
// included.
func TestNothingIsLeft(t *testing.T) {
	var out bytes.Buffer
	l, dir := local(t, "hang with child", &out)
	ctx, cancel := context.WithCancel(t.Context())
	var pids []int
	var mu sync.Mutex
	l.Started = func(_ wire.Node, pid int) {
		mu.Lock()
		defer mu.Unlock()
		pids = append(pids, pid)
	}
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	var children []string
	for len(children) < 5 {
		children, _ = filepath.Glob(filepath.Join(dir, "*"))
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	for _, c := range children {
		pid, _ := strconv.Atoi(filepath.Base(c))
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		for deadline := time.Now().Add(5 * time.Second); runs(pid); time.Sleep(5 *
			time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
		}
	}
}

// runs reports whether a process runs; a zombie does not.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

func TestValidate(t *testing.T) {
	for name, l := range map[string]launch.Local{
		"no program":    {Workers: 1, Servers: 1},
		"no workers":    {Program: []string{"x"}, Servers: 1},
		"no servers":    {Program: []string{"x"}, Workers: 1},
		"replicas":      {Program: []string{"x"}, Workers: 1, Servers: 1, Replicas: 2},
		"backups":       {Program: []string{"x"}, Workers: 2, Servers: 1, Backups: 2},
		"no such thing": {Program: []string{"/nonexistent/program"}, Workers: 1, Servers: 1},
	} {
		if err := l.Run(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestServerWithoutAPlace runs a server that waits for a scheduler which has ended because the job
// is over.
func TestServerWithoutAPlace(t *testing.T) {
	var out bytes.Buffer
	l, _ := local(t, "over", &out)
	l.Grace = 20 * time.Second
	began := time.Now()
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the job has ended %v after its scheduler", took)
	}
}
