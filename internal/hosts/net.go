//go:build linux

package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Net is a network of hosts. Its methods are not safe for concurrent use.
type Net struct {
	Hosts []*Host
	// Gateway is the address of the test's own process in the network.
	Gateway string

	t      testing.TB
	number int    // number of the network on this machine, which its names and addresses contain
	prefix string // first part of the names of namespaces, such as gx7
	parts  int    // number of bridges
}

// networks is the number of networks that may exist at once on a machine.
const networks = 200

// New makes a network of n hosts. It exists until the end of the test.
func New(t testing.TB, n int) *Net {
	t.Helper()
	NeedRoot(t)
	Need(t, "ip", "iproute2")
	Need(t, "unshare", "util-linux")
	net := &Net{t: t, number: reserve(t)}
	net.prefix = fmt.Sprintf("gx%d", net.number)
	net.remove() // the namespaces of a test that was killed
	t.Cleanup(net.remove)
	net.Gateway = net.address(254)
	net.ip("netns", "add", net.bridges())
	net.bridge(0)
	net.ip("-n", net.bridges(), "link", "add", "gate", "type", "veth", "peer", "name", net.prefix,
		"netns", fmt.Sprint(os.Getpid()))
	net.ip("-n", net.bridges(), "link", "set", "gate", "master", "br0", "up")
	net.ip("address", "add", net.Gateway+"/24", "dev", net.prefix)
	net.ip("link", "set", net.prefix, "up")
	for i := range n {
		net.Hosts = append(net.Hosts, net.host(i))
	}
	net.writeNames()
	return net
}

// reserve takes a number that no other running test has. It is held until the end of the test.
func reserve(t testing.TB) int {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "gomx-hosts")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatalf("hosts: folder of locks: %v", err)
	}
	for i := 1; i <= networks; i++ {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(i)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatalf("hosts: lock of a network: %v", err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			t.Cleanup(func() { f.Close() })
			return i
		}
		f.Close()
	}
	t.Fatalf("hosts: found %d networks in use on this machine, want fewer", networks)
	return 0
}

// address returns the IPv4 address of a host of this network.
func (n *Net) address(host int) string { return fmt.Sprintf("10.99.%d.%d", n.number, host) }

// bridges is the name of the namespace with the bridges that join the hosts.
func (n *Net) bridges() string { return n.prefix + "-net" }

// bridge makes bridge number i.
func (n *Net) bridge(i int) string {
	name := fmt.Sprintf("br%d", i)
	n.ip("-n", n.bridges(), "link", "add", name, "type", "bridge", "mcast_snooping", "0")
	n.ip("-n", n.bridges(), "link", "set", name, "up")
	n.parts = i + 1
	return name
}

// host makes host number i.
func (n *Net) host(i int) *Host {
	h := &Host{Name: fmt.Sprintf("host%d", i+1), IP: n.address(i + 1),
		IP6: fmt.Sprintf("fd99:%x::%x", n.number, i+1), net: n,
		netns: fmt.Sprintf("%s-h%d", n.prefix, i+1), port: fmt.Sprintf("port%d", i+1)}
	n.ip("netns", "add", h.netns)
	n.ip("-n", n.bridges(), "link", "add", h.port, "type", "veth", "peer", "name", Interface,
		"netns", h.netns)
	n.ip("-n", n.bridges(), "link", "set", h.port, "master", "br0", "up")
	n.ip("-n", h.netns, "address", "add", h.IP+"/24", "dev", Interface)
	n.ip("-n", h.netns, "-6", "address", "add", h.IP6+"/64", "dev", Interface, "nodad")
	n.ip("-n", h.netns, "link", "set", "lo", "up")
	n.ip("-n", h.netns, "link", "set", Interface, "up")
	return h
}

// Alias gives a host one more name in the file /etc/hosts of all hosts.
func (n *Net) Alias(name string, h *Host) {
	h.aliases = append(h.aliases, name)
	n.writeNames()
}

// writeNames writes the files that ip netns exec mounts at /etc/hosts and /etc/resolv.conf.
func (n *Net) writeNames() {
	n.t.Helper()
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for _, h := range n.Hosts {
		fmt.Fprintf(&text, "%s %s\n", h.IP, strings.Join(append([]string{h.Name}, h.aliases...),
			" "))
	}
	for _, h := range n.Hosts {
		dir := filepath.Join("/etc/netns", h.netns)
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "hosts"), []byte(text.String()), 0o644)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "resolv.conf"), nil, 0o644)
		}
		if err != nil {
			n.t.Fatalf("hosts: names of %s: %v", h.Name, err)
		}
	}
}

// Partition divides the network: hosts of one group reach each other, hosts of two groups do not.
// Hosts in no group, and the test's own process, are with the first one.
func (n *Net) Partition(groups ...[]*Host) {
	n.t.Helper()
	n.Heal()
	for i, group := range groups {
		if i == 0 {
			continue
		}
		name := fmt.Sprintf("br%d", i)
		if i >= n.parts {
			n.bridge(i)
		}
		for _, h := range group {
			n.ip("-n", n.bridges(), "link", "set", h.port, "master", name)
		}
	}
}

// Heal ends a partition.
func (n *Net) Heal() {
	n.t.Helper()
	for _, h := range n.Hosts {
		n.ip("-n", n.bridges(), "link", "set", h.port, "master", "br0")
	}
}

// ip runs the program ip.
func (n *Net) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("hosts: ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// remove kills the processes in all namespaces of the network's number and removes the namespaces.
func (n *Net) remove() {
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, n.prefix+"-") {
			killAll(name)
			_ = exec.Command("ip", "netns", "delete", name).Run() // the next test tries again
			os.RemoveAll(filepath.Join("/etc/netns", name))
		}
	}
	_ = exec.Command("ip", "link", "delete", n.prefix).Run() // gone with its peer
}
