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
)

// TestRanksFromTheScheduler starts the processes of a job by hand with the variables of MXNet's trackers,
// which give no rank, and kills a worker, whose successor has none either.
func TestRanksFromTheScheduler(t *testing.T) {
	const workers, servers, steps = 3, 2, 40
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	start := func(role string) (*exec.Cmd, *safeBuffer) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		out := &safeBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Env = append(os.Environ(), "DMLC_ROLE="+role, "DMLC_PS_ROOT_URI=127.0.0.1", fmt.Sprint("DMLC_PS_ROOT_PORT=", port),
			fmt.Sprint("DMLC_NUM_WORKER=", workers), fmt.Sprint("DMLC_NUM_SERVER=", servers),
			"LAUNCH_TEST_PLAY=train", fmt.Sprint("LAUNCH_TEST_STEPS=", steps), "LAUNCH_TEST_PAUSE=20ms", "GOMAXPROCS=1", "OMP_NUM_THREADS=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd, out
	}
	var cmds []*exec.Cmd
	var outs, done []*safeBuffer
	for i := range workers { // the order must not matter
		cmd, out := start("worker")
		cmds, outs = append(cmds, cmd), append(outs, out)
		if i < servers {
			cmd, _ := start("server")
			cmds = append(cmds, cmd)
		}
	}
	cmd, _ := start("scheduler")
	cmds = append(cmds, cmd)
	eventually(t, "the first step", func() bool { return strings.Contains(outs[0].String(), "step 0\n") })
	_ = cmds[0].Process.Kill()
	_ = cmds[0].Wait()
	again, out := start("worker")
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
			if want := fmt.Sprintf("result %s %08x\n", key, sum); !strings.Contains(out.String(), want) {
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
