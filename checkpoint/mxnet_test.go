package checkpoint_test

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	nd "gomx/ndarray"
)

var mxnetFlag = flag.String("mxnet", "python3",
	"Python interpreter; the test that needs MXNet is skipped where it has none")

// loadAll prints the arrays that MXNet finds in the files of TestMXNetLoads.
const loadAll = `
import sys, pickle
import mxnet as mx
prefix = sys.argv[1]
sym, args, aux = mx.model.load_checkpoint(prefix, 3)
print(sym.list_outputs(), sym.list_auxiliary_states())
for d in args, aux:
    for k in sorted(d):
        print(k, d[k].shape, d[k].dtype.__name__, d[k].asnumpy().ravel().tolist())
print([a.asnumpy().tolist() for a in mx.nd.load(prefix + ".list")])
states = pickle.load(open(prefix + "-0003.states", "rb"))
print(sorted(states), states[0].asnumpy().tolist(), states[1], [a.asnumpy().tolist() for a in states[2]])
`

func TestMXNetLoads(t *testing.T) {
	if err := exec.Command(*mxnetFlag, "-c", "import mxnet").Run(); err != nil {
		t.Skip("no MXNet:", err)
	}
	prefix := filepath.Join(t.TempDir(), "net")
	if err := someModel(t).Save(prefix, 3); err != nil {
		t.Fatal(err)
	}
	a, b := nd.FromSlice([]float32{1, 2}), nd.FromSlice([]int64{3, 4}, 2, 1)
	if err := checkpoint.SaveArrays(prefix+".list", []checkpoint.Named{{Array: a},
		{Array: b}}); err != nil {
		t.Fatal(err)
	}
	states := make([]checkpoint.IndexedState, 3)
	for i, arrays := range [][]*nd.Array{{a}, {}, {a, a}} {
		s, err := checkpoint.StateOf(arrays...)
		if err != nil {
			t.Fatal(err)
		}
		states[i] = checkpoint.IndexedState{Index: i, State: s}
	}
	if err := checkpoint.SaveStates(checkpoint.StatesPath(prefix, 3), states); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(*mxnetFlag, "-c", loadAll, prefix).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"['bn_output'] ['bn_moving_mean', 'bn_moving_var']",
		"bn_beta (2,) float32 [2.0, 2.0]",
		"bn_gamma (2,) float32 [1.0, 1.0]",
		"bn_moving_mean (2,) float32 [3.0, 3.0]",
		"bn_moving_var (2,) float32 [4.0, 4.0]",
		"[[1.0, 2.0], [[3], [4]]]",
		"[0, 1, 2] [1.0, 2.0] None [[1.0, 2.0], [1.0, 2.0]]",
	}, "\n")
	if strings.TrimSpace(string(got)) != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
