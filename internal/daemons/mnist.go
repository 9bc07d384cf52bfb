//go:build linux

package daemons

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Mnist is the example mnist, with the command that starts it on one machine.
type Mnist struct {
	Gomx    string // the command gomx
	Program string // the example
	dir     string
}

// NewMnist builds the example and the command.
func NewMnist(t testing.TB) *Mnist {
	t.Helper()
	dir := shared(t)
	return &Mnist{Gomx: buildIn(t, dir, "cmd/gomx"),
		Program: buildIn(t, dir, "examples/mnist"), dir: dir}
}

// Epochs is the number of passes over the images in these tests.
const Epochs = 1

// Args returns the arguments of a short training on the images in the program, and the folder of
// its results.
func (m *Mnist) Args(t testing.TB) (args []string, out string) {
	t.Helper()
	out, err := os.MkdirTemp(m.dir, "out-")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--data", "none", "--epochs", fmt.Sprint(Epochs), "--batch", "32", "--lr",
		"0.1", "--out", out}, out
}

// Alone trains with gomx launch on this machine and returns the checkpoint.
func (m *Mnist) Alone(t testing.TB, workers, servers int) string {
	t.Helper()
	args, out := m.Args(t)
	cmd := exec.Command(m.Gomx, append([]string{"launch", "--threads", "1", "-n",
		fmt.Sprint(workers), "-s", fmt.Sprint(servers), "--", m.Program}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gomx launch alone: %v\n%s", err, text)
	}
	return Checkpoint(t, out)
}

// Checkpoint returns the bytes of the checkpoint in a folder of results.
func Checkpoint(t testing.TB, out string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("lenet-%04d.params", Epochs)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
