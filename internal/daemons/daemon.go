//go:build linux

package daemons

import (
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
)

// daemon starts a daemon that stays in the foreground and ends it with the test. If the test fails,
// the test's log has the daemon's output.
func daemon(t testing.TB, cmd *exec.Cmd) *output.Buffer {
	t.Helper()
	out := &output.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("daemons: %v", err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(cmd.Args, " "), out)
		}
	})
	return out
}

// await waits until a condition holds.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("daemons: still waiting after 30 s: %s", what)
		}
	}
}

// listens reports whether a server accepts connections.
func listens(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// port returns a free port of the loopback.
func port(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
