//go:build cgo && linux

package launch_test

import (
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
	"gomx/launch"
)

// TestAllCopiesLost kills both servers at one instant, with the protocol's own intervals: the job
// ends soon, with an error that names the shards, and without starting workers again for nothing.
func TestAllCopiesLost(t *testing.T) {
	c := newChaos(1)
	c.scale, c.workers, c.servers = 1, 2, 2
	server := func(rank uint16) fault {
		return fault{victim: wire.Node{Role: wire.Server, Rank: rank}, how: "killed",
			moment: "step", after: 100 * time.Millisecond}
	}
	c.n = newNemesis(server(0), server(1))
	began := time.Now()
	if outcome := c.run(t); outcome != lost {
		t.Fatalf("got %s, want an error that names the lost shards\n%s", outcome, c.out.String())
	}
	t.Logf("the job has ended %v after its start", time.Since(began))
	for node, starts := range c.n.starts {
		if node.Role == wire.Worker && starts > 1 {
			t.Errorf("%s was started %d times:\n%s", node, starts, c.out.String())
		}
	}
	if out := c.out.String(); !strings.Contains(out, "numbers 0, 1") {
		t.Errorf("shards 0 and 1 are not named:\n%s", out)
	}
}

// stopped says whether to stop the servers of a job for longer than a minute, which takes two.
var stopped = flag.Bool("stopped", false, "also stop all servers of a job for 95 s")

// silent starts a job by hand, does something to both its servers after the first steps, and
// returns its processes.
func silent(t *testing.T, steps int, limit time.Duration, signal syscall.Signal) (cmds []*exec.Cmd,
	outs []*output.Buffer) {
	b := newByHandFor(t, limit, 2, 2, steps, "GOMX_REPLICAS=2", "LAUNCH_TEST_TIMEOUT=5m")
	for _, role := range []string{"scheduler", "server", "server", "worker", "worker"} {
		cmd, out := b.start(role)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	eventually(t, "the first step", func() bool {
		return strings.Contains(outs[3].String(), "step 0\n")
	})
	for _, cmd := range cmds[1:3] {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	return cmds, outs
}

// TestServersDieWithoutSuccessors kills both servers of a job that nobody supervises: the
// connections that their kernel closes show that they are dead, and every process ends soon, with
// an error that names the shards.
func TestServersDieWithoutSuccessors(t *testing.T) {
	t.Parallel()
	cmds, outs := silent(t, 1000000, 90*time.Second, syscall.SIGKILL)
	killed := time.Now()
	for i, cmd := range cmds {
		_ = cmd.Wait()
		if i == 1 || i == 2 {
			continue
		}
		if text := outs[i].String(); cmd.ProcessState.ExitCode() != launch.ExitLost ||
			!strings.Contains(text, "numbers 0, 1") {
			t.Errorf("process %d ended with %v, want exit code %d and the numbers of shards:\n%s",
				i, cmd.ProcessState, launch.ExitLost, text)
		}
	}
	if took := time.Since(killed); took > 30*time.Second {
		t.Errorf("the processes ended %v after the servers, want at most 30 s", took)
	} else {
		t.Logf("the processes ended %v after the servers", took)
	}
}

// TestServersStandStill stops both servers for 95 s: their connections stay open, and the job goes
// on.
func TestServersStandStill(t *testing.T) {
	if !*stopped {
		t.Skip("it takes two minutes: -stopped")
	}
	t.Parallel()
	const steps = 100
	cmds, outs := silent(t, steps, 3*time.Minute, syscall.SIGSTOP)
	time.Sleep(95 * time.Second)
	for _, cmd := range cmds[1:3] {
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, outs[i].String())
		}
	}
	for key, sum := range alone(t, 2, steps) {
		for _, out := range outs[3:] {
			if want := fmt.Sprintf("result %s %08x\n", key, sum); !strings.Contains(out.String(),
				want) {
				t.Errorf("output lacks %q:\n%s", want, out.String())
			}
		}
	}
}
