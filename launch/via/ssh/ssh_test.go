//go:build cgo && linux

package ssh_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/daemons"
	"gomx/internal/hosts"
)

// TestSSHTrains trains the example on two hosts over ssh and compares the checkpoint, byte for byte,
// with the checkpoint of gomx launch on one machine.
func TestSSHTrains(t *testing.T) {
	hosts.Named(t)
	m := daemons.NewMnist(t)
	want := m.Alone(t, 2, 2)
	n := hosts.New(t, 2)
	a, b := n.Hosts[0], n.Hosts[1]
	server := daemons.StartSSH(t, a, b)
	for name, c := range map[string]struct {
		lines, flags []string
	}{
		"IPv4":      {[]string{a.IP, b.IP}, nil},
		"interface": {[]string{a.IP, b.IP}, []string{"--interface", hosts.Interface}},
		"IPv6": {[]string{a.IP + " address=" + a.IP6, b.IP + " address=" + b.IP6},
			[]string{"--ipv6", "--ports", "29400-29409"}},
		"names": {[]string{a.Name, b.Name}, []string{"--ports", "29400-29409"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, logs := folders(), t.TempDir()
			args, out := m.Args(t)
			flags := append([]string{"launch", "--via", "ssh", "--hosts", daemons.HostsFile(t,
				c.lines...), "-n", "2", "-s", "2", "--threads", "1", "--logs", logs},
				append(server.Flags(), c.flags...)...)
			text, err := a.Command(m.Gomx, append(append(flags, "--", m.Program), args...)...).
				CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if daemons.Checkpoint(t, out) != want {
				t.Errorf("the checkpoint differs from the checkpoint of one machine:\n%s", text)
			}
			for _, node := range []string{"scheduler", "server-0", "server-1", "worker-0",
				"worker-1"} {
				b, err := os.ReadFile(filepath.Join(logs, node+".log"))
				if err != nil || len(b) == 0 || bytes.Contains(b, []byte("["+node[:6])) {
					t.Errorf("log of %s: %v, %q", node, err, b)
				}
			}
			if !bytes.Contains(text, []byte("[worker 1] digits")) {
				t.Errorf("no line of worker 1 with its name:\n%s", text)
			}
			checkEmpty(t, n, before, "at the end")
		})
	}
}

// programs returns the processes of hosts that run the example or a shell that waits for it.
func programs(n *hosts.Net) (list []string) {
	for _, h := range n.Hosts {
		for _, pid := range h.Pids() {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			line := strings.ReplaceAll(string(b), "\x00", " ")
			if err == nil && line != "" && !strings.Contains(line, "sshd") {
				list = append(list, h.Name+": "+line)
			}
		}
	}
	return list
}

// folders returns the folders of jobs and keys. The hosts share them with other jobs of this machine.
func folders() (list []string) {
	for _, pattern := range []string{"/tmp/gomx-keys-*", "/tmp/gomx-job-*"} {
		found, _ := filepath.Glob(pattern)
		list = append(list, found...)
	}
	return list
}

// checkEmpty waits until no process of a job is left on the hosts, and no folder that was not there
// before.
func checkEmpty(t *testing.T, n *hosts.Net, before []string, when string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		list := append(programs(n), folders()...)
		list = slices.DeleteFunc(list, func(x string) bool { return slices.Contains(before, x) })
		if len(list) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s these are left on the hosts:\n%s", when, strings.Join(list, "\n"))
			return
		}
	}
}

// TestSSHEnds ends jobs on two hosts in every way. No process may be left on a host, and no secret
// may be on a command line.
func TestSSHEnds(t *testing.T) {
	hosts.Named(t)
	m := daemons.NewMnist(t)
	n := hosts.New(t, 2)
	a, b := n.Hosts[0], n.Hosts[1]
	server := daemons.StartSSH(t, a, b)
	for name, c := range map[string]struct {
		end  func(launcher *exec.Cmd)
		code int // -1: a signal
	}{
		"SIGKILL": {func(l *exec.Cmd) { _ = l.Process.Kill() }, -1},
		"SIGTERM": {func(l *exec.Cmd) { _ = l.Process.Signal(syscall.SIGTERM) }, 1},
		"program fails": {func(*exec.Cmd) {
			for _, pid := range b.Pids() {
				if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); bytes.Contains(line,
					[]byte("DMLC_WORKER_ID=1\x00")) && bytes.Contains(line, []byte("FAIL=1\x00")) {
					_ = syscall.Kill(pid, syscall.SIGUSR1)
				}
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before, logs := folders(), t.TempDir()
			args, _ := m.Args(t)
			program := append([]string{m.Program}, append(args, "--epochs", "500")...)
			if name == "program fails" {
				program = append([]string{"sh", "-c", `case $DMLC_ROLE$DMLC_WORKER_ID in worker1) ` +
					`trap "exit 1" USR1; "$@" & wait; exit 9;; *) exec "$@";; esac`, "sh"},
					program...)
			}
			flags := append([]string{"launch", "--via", "ssh", "--hosts", daemons.HostsFile(t, a.IP,
				b.IP), "-n", "2", "-s", "2", "--threads", "1", "--logs", logs, "--env", "FAIL=1",
				"--"}, program...)
			flags = append(flags[:1:1], append(server.Flags(), flags[1:]...)...)
			cmd := a.Command(m.Gomx, flags...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				b, _ := os.ReadFile(filepath.Join(logs, "worker-1.log"))
				if bytes.Contains(b, []byte("Epoch[0]")) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("worker 1 has not trained after 60 s:\n%s", b)
				}
			}
			for _, line := range programs(n) {
				if strings.Contains(line, "secret") || strings.Contains(line, "GOMX_KEYS=") {
					t.Errorf("a command line has secrets or variables: %s", line)
				}
			}
			c.end(cmd)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, out.String())
			}
			if name == "SIGKILL" { // its folder is removed by the next launcher
				defer os.RemoveAll(filepath.Join(os.TempDir(), "gomx-0"))
			}
			checkEmpty(t, n, before, "after "+name)
		})
	}
}
