//go:build cgo && linux

package launch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
)

func init() {
	plays["share"] = func(string, string) int {
		err := launch.Run(context.Background(), func(ctx context.Context) error {
			if err := trainPlay(ctx); err != nil {
				return err
			}
			n, err := sharedPayloads()
			fmt.Printf("shared %d\n", n)
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
		return launch.ExitCode(err)
	}
}

// sharedPayloads asks this process's own status page how many payloads it has sent through shared
// memory.
func sharedPayloads() (uint64, error) {
	addr, err := os.ReadFile(filepath.Join(os.Getenv("GOMX_DIR"),
		"status-worker-"+os.Getenv("DMLC_WORKER_ID")))
	if err != nil {
		return 0, err
	}
	r, err := http.Get("http://" + string(addr) + "/status")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var s kvstore.Status
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		return 0, err
	}
	if s.Transport == nil {
		return 0, fmt.Errorf("the status page says nothing of the transport")
	}
	return s.Transport.Shared, nil
}

// sharingJob is a job of 2 workers and 2 servers with copies whose workers say how much they have
// shared.
func sharingJob(steps int, out *output.Buffer) launch.Local {
	l := trainJob(2, 2, 2, steps, out)
	l.Env = append(l.Env, "LAUNCH_TEST_PLAY=share")
	return l
}

func TestPayloadsAreShared(t *testing.T) {
	for name, c := range map[string]struct {
		env  string
		want bool
	}{
		"by default": {"GOMX_SHARED_MEMORY=on", true},
		"turned off": {"GOMX_SHARED_MEMORY=off", false},
	} {
		t.Run(name, func(t *testing.T) {
			var out output.Buffer
			l := sharingJob(12, &out)
			l.Env = append(l.Env, c.env)
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			if err := l.Run(ctx); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			checkResults(t, out.String(), 2, 12)
			for r := range 2 {
				none := strings.Contains(out.String(), fmt.Sprintf("[worker %d] shared 0\n", r))
				if none == c.want {
					t.Errorf("worker %d: shared nothing: %v, want %v:\n%s", r, none, !c.want,
						out.String())
				}
			}
		})
	}
}

// TestSharedMemoryOfTheDead kills a server while payloads are in its memory. It wants the result of
// an undisturbed job, and no names left in /dev/shm or among the sockets.
func TestSharedMemoryOfTheDead(t *testing.T) {
	before := shared(t)
	var out output.Buffer
	const steps = 40
	l := sharingJob(steps, &out)
	l.Env = append(l.Env, "LAUNCH_TEST_PAUSE=20ms")
	l.Dead = time.Second
	victims := make(chan int, 10)
	l.Started = func(n wire.Node, pid int) {
		if n == (wire.Node{Role: wire.Server}) {
			victims <- pid
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	victim := <-victims
	killed := false
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for err := error(nil); ; {
		select {
		case err = <-done:
			if err != nil || !killed {
				t.Fatalf("killed %v, %v\n%s", killed, err, out.String())
			}
			checkResults(t, out.String(), 2, steps)
			if after := shared(t); len(after) > len(before) {
				t.Errorf("left behind in /dev/shm: %v, before: %v", after, before)
			}
			return
		case <-look.C:
			if !killed && strings.Contains(out.String(), "step 0\n") {
				killed = syscall.Kill(victim, syscall.SIGKILL) == nil
			}
		}
	}
}

// shared lists the names of gomx in shared memory.
func shared(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadDir("/dev/shm")
	if err != nil {
		t.Skip("no /dev/shm here:", err)
	}
	var names []string
	for _, f := range list {
		if strings.Contains(f.Name(), "gomx") {
			names = append(names, f.Name())
		}
	}
	slices.Sort(names)
	return names
}
