//go:build linux

package daemons

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/hosts"
)

// SSH are ssh servers and a client that may log in at them as root.
type SSH struct {
	// Args are arguments of the client: a configuration with its key and the keys of the servers.
	Args []string
	// Name is the name of the server of StartSSH without hosts.
	Name string
}

// StartSSH starts an ssh server on port 22 of each host. Without hosts it starts one on a free port
// of the loopback, which the client knows as "loopback".
func StartSSH(t testing.TB, list ...*hosts.Host) *SSH {
	t.Helper()
	hosts.NeedRoot(t)
	sshd := hosts.Need(t, "sshd", "openssh-server")
	keygen := hosts.Need(t, "ssh-keygen", "openssh-client")
	hosts.Need(t, "ssh", "openssh-client")
	dir := shared(t)
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("daemons: ssh-keygen: %v: %s", err, out)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("authorized_keys", read("user.pub"))
	write("known_hosts", "* "+read("host.pub"))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd separates its privileges there
		t.Fatal(err)
	}
	config := func(addr string, port int) string {
		return write(fmt.Sprintf("sshd-%s-%d", addr, port), fmt.Sprintf("ListenAddress %s\n"+
			"Port %d\nHostKey %s/host\nAuthorizedKeysFile %s/authorized_keys\nStrictModes no\n"+
			"UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n"+
			"MaxStartups 100\nMaxSessions 100\n", addr, port, dir, dir))
	}
	client := fmt.Sprintf("Host *\n  User root\n  IdentityFile %s/user\n  IdentitiesOnly yes\n"+
		"  UserKnownHostsFile %s/known_hosts\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n",
		dir, dir)
	s := &SSH{Name: "loopback"}
	for _, h := range list {
		daemon(t, h.Command(sshd, "-D", "-e", "-f", config("0.0.0.0", 22)))
		await(t, "sshd of "+h.Name, func() bool { return listens(h.IP + ":22") })
	}
	if len(list) == 0 {
		p := port(t)
		daemon(t, exec.Command(sshd, "-D", "-e", "-f", config("127.0.0.1", p)))
		await(t, "sshd", func() bool { return listens(fmt.Sprintf("127.0.0.1:%d", p)) })
		client = fmt.Sprintf("Host %s\n  HostName 127.0.0.1\n  Port %d\n", s.Name, p) + client
	}
	s.Args = []string{"-F", write("client", client)}
	return s
}

// Flags returns the arguments of the client as flags of gomx launch.
func (s *SSH) Flags() (flags []string) {
	for _, arg := range s.Args {
		flags = append(flags, "--engine-arg="+arg)
	}
	return flags
}

// HostsFile writes a hosts file of the given lines.
func HostsFile(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
