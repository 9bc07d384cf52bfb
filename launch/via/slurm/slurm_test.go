//go:build cgo && linux

package slurm_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/daemons"
	"gomx/internal/hosts"
	"gomx/launch/via/slurm"
)

func TestTag(t *testing.T) {
	for line, want := range map[string]struct {
		rank int
		text string
		ok   bool
	}{
		"3: Epoch[0]":       {3, "Epoch[0]", true},
		" 3: [server 2] x":  {3, "[server 2] x", true},
		"10: ":              {10, "", true},
		"srun: error: node": {0, "", false},
	} {
		rank, text, ok := slurm.Tag(line)
		if rank != want.rank || text != want.text || ok != want.ok {
			t.Errorf("%q: got %d, %q, %t, want %+v", line, rank, text, ok, want)
		}
	}
}

func TestCommand(t *testing.T) {
	c := slurm.Config{Workers: 3, Program: []string{"./mnist", "--lr", "0.1"},
		Hosts: []string{"a", "b"}, Args: []string{"--time=5"}, Srun: "true"}
	cmd, err := c.Command([]string{"GOMX_KEYS=secret place"})
	if err != nil {
		t.Fatal(err)
	}
	want := "-n 3 --label --kill-on-bad-exit=1 --export=ALL --nodelist=a,b --time=5 ./mnist --lr 0.1"
	if got := strings.Join(cmd.Args[1:], " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.Contains(strings.Join(cmd.Env, "\n"), "GOMX_KEYS=secret place") {
		t.Error("the environment lacks GOMX_KEYS")
	}
}

// TestSlurmTrains trains the example, unchanged, with plain srun on one node and on two, and with
// gomx launch, and compares the checkpoint, byte for byte, with the checkpoint of gomx launch alone.
func TestSlurmTrains(t *testing.T) {
	hosts.Named(t)
	srun := hosts.Need(t, "srun", "slurm-client")
	m := daemons.NewMnist(t)
	want := m.Alone(t, 2, 2)
	cluster := daemons.StartSlurm(t, 2)
	logs := t.TempDir()
	for name, command := range map[string][]string{
		"one node":  {srun, "-N", "1", "-n", "2", m.Program},
		"two nodes": {srun, "-N", "2", "-n", "2", m.Program},
		"gomx launch": {m.Gomx, "launch", "--via", "slurm", "-n", "2", "-s", "2", "--threads", "1",
			"--logs", logs, "--engine-arg=-N2", "--", m.Program},
	} {
		t.Run(name, func(t *testing.T) {
			args, out := m.Args(t)
			cmd := exec.Command(command[0], append(command[1:], args...)...)
			cmd.Env = append(append(os.Environ(), cluster.Env...), "GOMX_THREADS=1")
			cmd.Dir = t.TempDir()
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if daemons.Checkpoint(t, out) != want {
				t.Errorf("the checkpoint differs from the checkpoint of gomx launch:\n%s", text)
			}
			if left, _ := filepath.Glob(filepath.Join(cmd.Dir, ".gomx", "*")); len(left) > 0 {
				t.Errorf("folders %q are left", left)
			}
			if name == "gomx launch" && !bytes.Contains(text, []byte("[worker 1] digits")) {
				t.Errorf("no line of worker 1 with its name:\n%s", text)
			}
		})
	}
}
