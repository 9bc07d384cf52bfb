//go:build linux

package launch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
	"gomx/launch"
)

// crashes are ways to die by accident.
var crashes = map[string]func(){
	"panic":         func() { panic("a bug") },
	"runtime error": func() { _ = *(*int)(nil) },
	"unrecovered": func() {
		go func() { panic("in another goroutine") }()
		time.Sleep(time.Hour)
	},
	"segfault": func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		time.Sleep(time.Hour)
	},
	"abort": func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		time.Sleep(time.Hour)
	},
	"killed": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"terminated": func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(time.Hour)
	},
	"out of memory":    exhaust,
	"unknown exit":     func() { os.Exit(17) },
	"exit of a script": func() { os.Exit(139) },
}

// exhaust allocates until a limit of the process's address space stops it, as a full machine would.
func exhaust() {
	limit := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		panic(err)
	}
	var keep [][]byte
	for {
		keep = append(keep, make([]byte, 1<<30))
		runtime.KeepAlive(keep)
	}
}

// once reports whether nobody has called it in a folder before with the same words.
func once(dir string, words ...any) bool {
	return os.Mkdir(filepath.Join(dir, fmt.Sprint(words...)), 0o700) == nil
}

func init() {
	plays["crash"] = func(role, dir string) int {
		once(dir, "run ", role, " ", os.Getpid())
		if once(dir, role) { // one process of each role
			crashes[os.Getenv("LAUNCH_TEST_CRASH")]()
		}
		if role != "worker" {
			time.Sleep(time.Hour)
		}
		for { // until one process of each role has been started again: 2 + 3 + 3 runs
			if list, _ := filepath.Glob(filepath.Join(dir, "run *")); len(list) == 8 {
				return 0
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	plays["exit"] = func(role, _ string) int {
		code := 0
		if role == os.Getenv("LAUNCH_TEST_ROLE") {
			_, _ = fmt.Sscan(os.Getenv("LAUNCH_TEST_CODE"), &code)
			return code
		}
		time.Sleep(time.Hour)
		return 0
	}
}

// TestCrashesAreSurvived lets one process of each role die in every way that is no declaration.
func TestCrashesAreSurvived(t *testing.T) {
	for how := range crashes {
		t.Run(how, func(t *testing.T) {
			var out output.Buffer
			l, _ := local(t, "crash", nil)
			l.Stdout, l.Stderr = &out, &out
			l.Env = append(l.Env, "LAUNCH_TEST_CRASH="+how, "GOTRACEBACK=none")
			var mu sync.Mutex
			runs := map[wire.Role]int{}
			l.Started = func(n wire.Node, _ int) {
				mu.Lock()
				defer mu.Unlock()
				runs[n.Role]++
			}
			if err := l.Run(t.Context()); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for role, want := range map[wire.Role]int{wire.Scheduler: 2, wire.Server: 3,
				wire.Worker: 3} {
				if runs[role] != want {
					t.Errorf("%v ran %d times in all, want %d", role, runs[role], want)
				}
			}
		})
	}
}

// TestDeclarations lets processes say that starting them again would not help.
func TestDeclarations(t *testing.T) {
	for _, c := range []struct {
		role       string
		code, runs int
	}{
		{"worker", launch.ExitFailed, 1}, {"worker", launch.ExitUsage, 1},
		{"server", launch.ExitUsage, 1},
		{"scheduler", launch.ExitUsage, 1}, {"worker", launch.ExitLost, 1},
		{"worker", launch.ExitReplaced, 1},
		{"server", launch.ExitReplaced, 1},
		{"worker", 2, 3}, // flags that the program refuses before it calls Run
		{"worker", launch.ExitRetry, 5}, {"server", launch.ExitFailed, 5},
	} {
		t.Run(fmt.Sprint(c.role, " ", c.code), func(t *testing.T) {
			var out bytes.Buffer
			l, _ := local(t, "exit", &out)
			l.Workers, l.Servers, l.Restarts = 1, 1, 4
			l.Env = append(l.Env, "LAUNCH_TEST_ROLE="+c.role, fmt.Sprint("LAUNCH_TEST_CODE=",
				c.code))
			err := l.Run(t.Context())
			var exit *launch.ExitError
			if !errors.As(err, &exit) || exit.Code != c.code || exit.Runs != c.runs ||
				exit.Node.Role.String() != c.role {
				t.Errorf("got %v, want the end of the %s with %d after %d runs", err, c.role,
					c.code, c.runs)
			}
		})
	}
}

// TestExitCodes wants every kind of error to have its code, and no error to have the code of a
// crash.
func TestExitCodes(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("pushing: %w", &ps.Error{Err: err}) }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, launch.ExitOK}, {errors.New("a bug"), launch.ExitFailed},
		{wrapped(ps.ErrLost), launch.ExitLost},
		{wrapped(ps.ErrFenced), launch.ExitReplaced}, {kvstore.ErrReplaced, launch.ExitReplaced},
		{wrapped(ps.ErrTimeout), launch.ExitRetry}, {wrapped(ps.ErrNoScheduler), launch.ExitRetry},
		{context.DeadlineExceeded, launch.ExitRetry},
		{fmt.Errorf("flags: %w", launch.ErrUsage), launch.ExitUsage},
	} {
		if got := launch.ExitCode(c.err); got != c.want || got == 2 {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}
