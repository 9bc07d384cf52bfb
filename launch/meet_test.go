//go:build cgo && linux

package launch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/output"
)

// ranks starts the ranks of an engine as processes of this machine and returns their outputs.
func ranks(t *testing.T, n, steps int, env func(rank int) []string) []*output.Buffer {
	t.Helper()
	var cmds []*exec.Cmd
	var outs []*output.Buffer
	for i := range n {
		cmd, out := exec.CommandContext(t.Context(), os.Args[0]), &output.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Env = append(os.Environ(), "LAUNCH_TEST_PLAY=train",
			fmt.Sprint("LAUNCH_TEST_STEPS=", steps), "GOMAXPROCS=1", "OMP_NUM_THREADS=1",
			fmt.Sprint("OMPI_COMM_WORLD_RANK=", i), fmt.Sprint("OMPI_COMM_WORLD_SIZE=", n),
			"PMIX_NAMESPACE=test")
		cmd.Env = append(cmd.Env, env(i)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("rank %d: %v\n%s", i, err, outs[i].String())
		}
	}
	return outs
}

// TestRanksMeet starts ranks as MPI does, on one host and on several: they meet in a folder, train,
// and remove the folder.
func TestRanksMeet(t *testing.T) {
	const steps = 6
	for name, c := range map[string]struct {
		ranks, first int // number of ranks, and the rank of the first worker
		env          []string
	}{
		"one host": {3, 0, []string{"OMPI_COMM_WORLD_LOCAL_SIZE=3", "DMLC_NUM_SERVER=2"}},
		"several hosts": {3, 0, []string{"OMPI_COMM_WORLD_LOCAL_SIZE=1", "DMLC_NUM_SERVER=2",
			"GOMX_PORTS=31000-31999"}},
		"a rank for each role": {6, 3, []string{"OMPI_COMM_WORLD_LOCAL_SIZE=2", "DMLC_NUM_SERVER=2",
			"DMLC_NUM_WORKER=3"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			outs := ranks(t, c.ranks, steps, func(int) []string {
				return append(c.env, "GOMX_DIR="+dir)
			})
			for key, sum := range alone(t, 3, steps) {
				for i, out := range outs[c.first:] {
					if want := fmt.Sprintf("result %s %08x\n", key, sum); !strings.Contains(
						out.String(), want) {
						t.Errorf("worker %d lacks %q:\n%s", i, want, out.String())
					}
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("%q is left in the folder", left)
			}
		})
	}
}
