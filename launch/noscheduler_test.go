//go:build cgo && linux

package launch_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"gomx/internal/output"
)

// TestSchedulerIsGone kills the scheduler of a job that was started by hand, for good or with a
// successor that has no folder and so knows nothing of the job: the other processes end with a code
// that is not 0 and say why.
func TestSchedulerIsGone(t *testing.T) {
	for name, again := range map[string]bool{"for good": false,
		"with a successor that knows nothing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newByHand(t, 2, 2, 1000000, "PS_HEARTBEAT_INTERVAL=0.1",
				"PS_HEARTBEAT_TIMEOUT=0.5", "GOMX_PATIENCE=4", "LAUNCH_TEST_PAUSE=5ms")
			scheduler, _ := b.start("scheduler")
			var cmds []*exec.Cmd
			var outs []*output.Buffer
			for _, role := range []string{"server", "server", "worker", "worker"} {
				cmd, out := b.start(role)
				cmds, outs = append(cmds, cmd), append(outs, out)
			}
			eventually(t, "the first step", func() bool {
				return strings.Contains(outs[2].String(), "step 0\n")
			})
			_ = scheduler.Process.Kill()
			_ = scheduler.Wait()
			if again {
				successor, out := b.start("scheduler")
				cmds, outs = append(cmds, successor), append(outs, out)
			}
			killed := time.Now()
			for i, cmd := range cmds {
				_ = cmd.Wait()
				if cmd.ProcessState.ExitCode() <= 0 ||
					!strings.Contains(outs[i].String(), "scheduler") {
					t.Errorf("process %d ended with %v, want a word about the scheduler and an "+
						"exit code above 0:\n%s", i, cmd.ProcessState, outs[i].String())
				}
			}
			if took := time.Since(killed); took > 40*time.Second {
				t.Errorf("the processes ended %v after the scheduler, want some seconds more "+
					"than 4", took)
			}
		})
	}
}
