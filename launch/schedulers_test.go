//go:build cgo && linux

package launch_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
)

// TestSchedulersTakeOver kills the scheduler that leads a job twice; the job's folder elects
// another one, and the result is the result of one process.
func TestSchedulersTakeOver(t *testing.T) {
	const workers, steps = 2, 150
	var out output.Buffer
	l := trainJob(workers, 2, 2, steps, &out)
	l.Schedulers = 3
	l.Env = append(l.Env, "PS_VERBOSE=1", "LAUNCH_TEST_PAUSE=10ms")
	var mu sync.Mutex
	pids := map[string]int{}
	l.Started = func(n wire.Node, pid int) {
		mu.Lock()
		defer mu.Unlock()
		name := n.String()
		if n.Rank > 0 {
			name += " " + string(rune('0'+n.Rank))
		}
		pids[name] = pid
	}
	go func() {
		for kills := 1; kills <= 2; kills++ {
			leads := ""
			for leads == "" && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
				leads = leader(out.String(), kills)
			}
			if kills == 1 {
				for !strings.Contains(out.String(), "step 0\n") && t.Context().Err() == nil {
					time.Sleep(10 * time.Millisecond)
				}
			}
			mu.Lock()
			_ = syscall.Kill(pids[leads], syscall.SIGKILL)
			mu.Unlock()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	if err := l.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	checkResults(t, out.String(), workers, steps)
	if leader(out.String(), 3) == "" {
		t.Errorf("want three schedulers that have led:\n%s", out.String())
	}
}

// leader returns the name of the n-th scheduler that has said that it leads, empty if there is none
// yet.
func leader(out string, n int) string {
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "this scheduler leads") {
			continue
		}
		if n--; n == 0 {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
			return name
		}
	}
	return ""
}
