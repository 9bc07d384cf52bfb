//go:build cgo && linux

package mpi_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/daemons"
	"gomx/internal/hosts"
	"gomx/launch/via/mpi"
)

func TestTag(t *testing.T) {
	for line, want := range map[string]struct {
		rank int
		text string
		ok   bool
	}{
		"[1,3]<stdout>:Epoch[0]":      {3, "Epoch[0]", true},
		"[1,12]<stderr>:[server 2] x": {12, "[server 2] x", true},
		"[1,0]<stdout>: padded":       {0, "padded", true},
		"mpirun: note":                {0, "", false},
		"[host:1] error":              {0, "", false},
	} {
		rank, text, ok := mpi.Tag(line)
		if rank != want.rank || text != want.text || ok != want.ok {
			t.Errorf("%q: got %d, %q, %t, want %+v", line, rank, text, ok, want)
		}
	}
}

// TestCommand wants names of variables, and no value, on the command line.
func TestCommand(t *testing.T) {
	c := mpi.Config{Workers: 3, Program: []string{"./mnist", "--lr", "0.1"},
		Hosts: []string{"a:2", "b:1"}, Args: []string{"--oversubscribe"}, Mpirun: "true"}
	cmd, err := c.Command([]string{"GOMX_KEYS=secret place", "DMLC_NUM_SERVER=2"})
	if err != nil {
		t.Fatal(err)
	}
	want := "-n 3 --tag-output --host a:2,b:1 -x GOMX_KEYS -x DMLC_NUM_SERVER --oversubscribe " +
		"./mnist --lr 0.1"
	if got := strings.Join(cmd.Args[1:], " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.Contains(strings.Join(cmd.Env, "\n"), "GOMX_KEYS=secret place") {
		t.Error("the environment lacks GOMX_KEYS")
	}
	c.Mpirun = "no-such-mpirun"
	if _, err := c.Command(nil); err == nil || !strings.Contains(err.Error(), "openmpi-bin") {
		t.Errorf("without mpirun: got %v, want an error that names the package", err)
	}
}

// root are the variables that let root run Open MPI.
var root = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	"GOMX_THREADS=1"}

// TestMPITrains trains the example, unchanged, with plain mpirun and with gomx launch, and compares
// the checkpoint, byte for byte, with the checkpoint of gomx launch alone.
func TestMPITrains(t *testing.T) {
	hosts.Named(t)
	mpirun := hosts.Need(t, "mpirun", "openmpi-bin")
	m := daemons.NewMnist(t)
	want := m.Alone(t, 2, 2)
	logs := t.TempDir()
	for name, c := range map[string]struct {
		command, env []string
	}{
		"mpirun": {[]string{mpirun, "--oversubscribe", "-n", "2", m.Program}, nil},
		"gomx launch": {[]string{m.Gomx, "launch", "--via", "mpi", "-n", "2", "-s", "2",
			"--threads", "1", "--logs", logs, "--engine-arg=--oversubscribe", "--", m.Program}, nil},
		"a rank for every role": {[]string{mpirun, "--oversubscribe", "-n", "5", m.Program},
			[]string{"DMLC_NUM_WORKER=2", "DMLC_NUM_SERVER=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			args, out := m.Args(t)
			cmd := exec.Command(c.command[0], append(c.command[1:], args...)...)
			cmd.Env, cmd.Dir = append(append(os.Environ(), root...), c.env...), t.TempDir()
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if daemons.Checkpoint(t, out) != want {
				t.Errorf("the checkpoint differs from the checkpoint of gomx launch:\n%s", text)
			}
			if name != "gomx launch" {
				return
			}
			for _, node := range []string{"scheduler", "server-1", "worker-1"} {
				b, err := os.ReadFile(filepath.Join(logs, node+".log"))
				if err != nil || len(b) == 0 {
					t.Errorf("log of %s: %v, %d bytes", node, err, len(b))
				}
			}
			if !bytes.Contains(text, []byte("[worker 1] digits")) {
				t.Errorf("no line of worker 1 with its name:\n%s", text)
			}
		})
	}
}

// TestMPIHosts trains over two hosts, on which mpirun starts processes over ssh. The processes meet in
// the working directory, which the hosts share, and encrypt their connections.
func TestMPIHosts(t *testing.T) {
	hosts.Named(t)
	mpirun := hosts.Need(t, "mpirun", "openmpi-bin")
	m := daemons.NewMnist(t)
	want := m.Alone(t, 2, 2)
	n := hosts.New(t, 2)
	server := daemons.StartSSH(t, n.Hosts...)
	mca := []string{"--mca", "plm_rsh_agent", "ssh " + strings.Join(server.Args, " "),
		"--mca", "oob_tcp_if_include", hosts.Interface}
	list := n.Hosts[0].Name + ":1," + n.Hosts[1].Name + ":1"
	for name, command := range map[string][]string{
		"mpirun": append(append([]string{mpirun}, mca...), "--host", list, "-n", "2", "-x",
			"GOMX_THREADS", m.Program),
		"gomx launch": {m.Gomx, "launch", "--via", "mpi", "-n", "2", "-s", "2", "--threads", "1",
			"--interface", hosts.Interface, "--ports", "29400-29409",
			"--engine-arg=" + mca[0], "--engine-arg=" + mca[1], "--engine-arg=" + mca[2],
			"--engine-arg=" + mca[3], "--engine-arg=" + mca[4], "--engine-arg=" + mca[5],
			"--hosts", daemons.HostsFile(t, n.Hosts[0].Name, n.Hosts[1].Name), "--", m.Program},
	} {
		t.Run(name, func(t *testing.T) {
			args, out := m.Args(t)
			cmd := n.Hosts[0].Command(command[0], append(command[1:], args...)...)
			cmd.Env, cmd.Dir = append(os.Environ(), root...), t.TempDir()
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if daemons.Checkpoint(t, out) != want {
				t.Errorf("the checkpoint differs from the checkpoint of gomx launch:\n%s", text)
			}
			if !strings.Contains(string(text), "scheduler listens at tcp://"+n.Hosts[0].IP) {
				t.Errorf("the scheduler does not listen at %s:\n%s", n.Hosts[0].IP, text)
			}
		})
	}
}

// TestMPIFails wants the exit code of a program that fails, and no process left.
func TestMPIFails(t *testing.T) {
	hosts.Named(t)
	hosts.Need(t, "mpirun", "openmpi-bin")
	m := daemons.NewMnist(t)
	cmd := exec.Command(m.Gomx, "launch", "--via", "mpi", "-n", "2", "-s", "1",
		"--engine-arg=--oversubscribe", "--", m.Program, "--data", "none", "--kvstore", "nonsense")
	cmd.Env = append(os.Environ(), root...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v, want exit code 1:\n%s", err, text)
	}
	list, err := exec.Command("ps", "-eo", "args").Output()
	if err != nil || strings.Contains(string(list), m.Program) {
		t.Errorf("processes are left, %v:\n%s", err, list)
	}
}
