//go:build linux

package hosts_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gomx/internal/hosts"
)

// TestMain lets the test's own binary be the programs that run in hosts: one answers connections
// with the name of its host, the other one asks.
func TestMain(m *testing.M) {
	switch addr := os.Getenv("HOSTS_TEST_ADDRESS"); os.Getenv("HOSTS_TEST_PLAY") {
	case "answer":
		os.Exit(answer(addr))
	case "ask":
		os.Exit(ask(addr))
	}
	os.Exit(m.Run())
}

func answer(addr string) int {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("listens")
	name, _ := os.Hostname()
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		fmt.Fprintln(c, name)
		c.Close()
	}
}

func ask(addr string) int {
	c, err := net.DialTimeout("tcp", addr, 500*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer c.Close()
	b, _ := io.ReadAll(c)
	fmt.Print(string(b))
	return 0
}

// play returns a program of TestMain in a host.
func play(h *hosts.Host, what, addr string) *exec.Cmd {
	cmd := h.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HOSTS_TEST_PLAY="+what, "HOSTS_TEST_ADDRESS="+addr)
	return cmd
}

// reaches reports whether a program in from gets the answer of host to.
func reaches(t *testing.T, from, to *hosts.Host, addr string) bool {
	t.Helper()
	out, err := play(from, "ask", addr).Output()
	return err == nil && strings.TrimSpace(string(out)) == to.Name
}

func TestHostsLinksAndPartitions(t *testing.T) {
	hosts.Named(t)
	n := hosts.New(t, 3)
	server := n.Hosts[1]
	cmd := play(server, "answer", "[::]:7000")
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	if line, err := bufio.NewReader(pipe).ReadString('\n'); line != "listens\n" {
		t.Fatalf("the server printed %q, %v", line, err)
	}
	check := func(state string, first, third bool) {
		t.Helper()
		for _, addr := range []string{server.IP, "[" + server.IP6 + "]", server.Name} {
			if got := reaches(t, n.Hosts[0], server, addr+":7000"); got != first {
				t.Errorf("%s: host 1 reaches %s: %t, want %t", state, addr, got, first)
			}
		}
		if got := reaches(t, n.Hosts[2], server, server.IP+":7000"); got != third {
			t.Errorf("%s: host 3 reaches host 2: %t, want %t", state, got, third)
		}
	}
	check("at first", true, true)
	if c, err := net.DialTimeout("tcp", server.IP+":7000", time.Second); err != nil {
		t.Errorf("the test's own process: %v", err)
	} else {
		c.Close()
	}
	server.Down()
	check("link down", false, false)
	server.Up()
	check("link up", true, true)
	n.Partition(n.Hosts[:1], n.Hosts[1:])
	check("partition", false, true)
	n.Heal()
	check("healed", true, true)
	if list := server.Pids(); len(list) != 1 || list[0] != cmd.Process.Pid {
		t.Errorf("processes of host 2: got %d, want %d", list, cmd.Process.Pid)
	}
	server.Kill()
	check("killed", false, false)
}

// TestHostsAreRemoved wants no namespace of a network after its test.
func TestHostsAreRemoved(t *testing.T) {
	hosts.Named(t)
	var name string
	t.Run("network", func(t *testing.T) {
		n := hosts.New(t, 1)
		cmd := n.Hosts[0].Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = cmd.Wait() }()
		name = n.Hosts[0].Namespace()
	})
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil || strings.Contains(string(out), name) {
		t.Errorf("namespaces %s, %v, want no %s", out, err, name)
	}
}
