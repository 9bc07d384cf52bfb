//go:build linux

package hosts

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Interface is the name of the network interface of every host.
const Interface = "eth0"

// Host is a network namespace with an address and a host name of its own.
type Host struct {
	Name string // host name, which all hosts of the network can resolve
	IP   string // IPv4 address
	IP6  string // IPv6 address

	net     *Net
	netns   string   // name of the namespace
	port    string   // end of the host's link at the bridge
	aliases []string // more names in /etc/hosts
}

// Command returns a command that runs in the host, in a process group of its own. It dies with the
// test's process, and with Kill.
func (h *Host) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command("ip", append([]string{"netns", "exec", h.netns, "unshare", "--uts", "--",
		"sh", "-c", `hostname "$0" && exec "$@"`, h.Name, program}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Namespace returns the name of the host's network namespace, for ip -n and ip netns exec.
func (h *Host) Namespace() string { return h.netns }

// Down takes the host's link down: no packet passes, and connections stay as they are.
func (h *Host) Down() {
	h.net.t.Helper()
	h.net.ip("-n", h.net.bridges(), "link", "set", h.port, "down")
}

// Up ends Down.
func (h *Host) Up() {
	h.net.t.Helper()
	h.net.ip("-n", h.net.bridges(), "link", "set", h.port, "up")
}

// Kill kills every process of the host, as if its power had failed. Its connections are closed by
// the kernel unless its link is down.
func (h *Host) Kill() {
	h.net.t.Helper()
	if left := killAll(h.netns); left > 0 {
		h.net.t.Fatalf("hosts: %s has %d processes after they were killed", h.Name, left)
	}
}

// Pids returns the numbers of the processes that run in the host.
func (h *Host) Pids() []int { return pids(h.netns) }

func pids(netns string) (list []int) {
	out, err := exec.Command("ip", "netns", "pids", netns).Output()
	if err != nil {
		return nil
	}
	for _, text := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(text); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// killAll kills the processes of a namespace and returns the number of processes left after 5 s.
func killAll(netns string) (left int) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list := pids(netns)
		if len(list) == 0 || time.Now().After(deadline) {
			return len(list)
		}
		for _, pid := range list {
			_ = syscall.Kill(pid, syscall.SIGKILL) // an error means that it has ended
		}
	}
}
