//go:build cgo && linux

package launch_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/launch"
)

// byHand starts processes of one job as MXNet's trackers do.
type byHand struct {
	t                       *testing.T
	ctx                     context.Context
	workers, servers, steps int
	port                    int
	env                     []string
}

func newByHand(t *testing.T, workers, servers, steps int, env ...string) *byHand {
	t.Helper()
	return newByHandFor(t, 90*time.Second, workers, servers, steps, env...)
}

// newByHandFor sets a limit to the time that the job may take.
func newByHandFor(t *testing.T, limit time.Duration, workers, servers, steps int,
	env ...string) *byHand {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return &byHand{t, ctx, workers, servers, steps, l.Addr().(*net.TCPAddr).Port, env}
}

// start starts one process. It is killed at the end of the test.
func (b *byHand) start(role string, env ...string) (*exec.Cmd, *output.Buffer) {
	b.t.Helper()
	cmd := exec.CommandContext(b.ctx, os.Args[0])
	out := &output.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "DMLC_ROLE="+role, "DMLC_PS_ROOT_URI=127.0.0.1",
		fmt.Sprint("DMLC_PS_ROOT_PORT=", b.port),
		fmt.Sprint("DMLC_NUM_WORKER=", b.workers), fmt.Sprint("DMLC_NUM_SERVER=", b.servers),
		"LAUNCH_TEST_PLAY=train", fmt.Sprint("LAUNCH_TEST_STEPS=", b.steps),
		"LAUNCH_TEST_PAUSE=20ms", "GOMAXPROCS=1", "OMP_NUM_THREADS=1")
	cmd.Env = append(append(cmd.Env, b.env...), env...)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, out
}

// TestRanksFromTheScheduler starts the processes of a job by hand with the variables of MXNet's
// trackers, which give no rank, and kills a worker, whose successor has none either.
func TestRanksFromTheScheduler(t *testing.T) {
	const workers, servers, steps = 3, 2, 40
	b := newByHand(t, workers, servers, steps)
	var cmds []*exec.Cmd
	var outs, done []*output.Buffer
	for i := range workers { // the order must not matter
		cmd, out := b.start("worker")
		cmds, outs = append(cmds, cmd), append(outs, out)
		if i < servers {
			cmd, _ := b.start("server")
			cmds = append(cmds, cmd)
		}
	}
	cmd, _ := b.start("scheduler")
	cmds = append(cmds, cmd)
	eventually(t, "the first step", func() bool {
		return strings.Contains(outs[0].String(), "step 0\n")
	})
	_ = cmds[0].Process.Kill()
	_ = cmds[0].Wait()
	again, out := b.start("worker")
	cmds[0], done = again, append(outs[1:], out)
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			for _, out := range done {
				t.Log(out.String())
			}
			t.Fatalf("%s: %v", cmd.Args, err)
		}
	}
	for key, sum := range alone(t, workers, steps) {
		for _, out := range done {
			if want := fmt.Sprintf("result %s %08x\n", key, sum); !strings.Contains(out.String(),
				want) {
				t.Errorf("output lacks %q:\n%s", want, out.String())
			}
		}
	}
	ranks := map[string]bool{}
	for _, out := range done {
		for line := range strings.Lines(out.String()) {
			if text, _, ok := strings.Cut(line, " serves health"); ok {
				ranks[text] = true
			}
		}
	}
	if len(ranks) != workers {
		t.Errorf("workers are %v, want %d different ones", ranks, workers)
	}
}

// TestTwoOfOneRank starts two workers with the same rank, as two supervisors do that do not know of
// each other: the one that holds the place goes on undisturbed, and the other one ends with the
// exit code that says why, and does not come back.
func TestTwoOfOneRank(t *testing.T) {
	const steps = 400
	b := newByHand(t, 1, 1, steps)
	b.start("scheduler")
	b.start("server", "DMLC_SERVER_ID=0")
	first, out := b.start("worker", "DMLC_WORKER_ID=0")
	eventually(t, "the first step", func() bool {
		return strings.Contains(out.String(), "step 0\n")
	})
	second, secondOut := b.start("worker", "DMLC_WORKER_ID=0")
	_ = second.Wait()
	if code := second.ProcessState.ExitCode(); code != launch.ExitReplaced ||
		!strings.Contains(secondOut.String(), "taken this place") {
		t.Errorf("the second worker ended with %d, want %d:\n%s", code, launch.ExitReplaced,
			secondOut.String())
	}
	if strings.Contains(out.String(), "result") {
		t.Error("the second worker has waited for the end of the first")
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first worker: %v\n%s", err, out.String())
	}
	for key, sum := range alone(t, 1, steps) {
		if want := fmt.Sprintf("result %s %08x\n", key, sum); !strings.Contains(out.String(),
			want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}
