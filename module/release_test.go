package module_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gomx/checkpoint"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// The files testdata/release-COMMIT.resume were written by TestRunOfTheFormerRelease in the tree of
// an earlier release, with the flag -release.write.
var releaseWrite = flag.String("release.write", "",
	"file to which TestRunOfTheFormerRelease writes a run of two epochs")

const formerRun = "testdata/release-c91b512"

// releaseRun trains up to an epoch, and returns the module.
func releaseRun(t *testing.T, prefix string, epochs int) *module.Module {
	t.Helper()
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		sym.Name("fc1"))
	x = sym.Dropout(sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, sym.Name("tanh")),
		sym.DropoutParams{P: sym.Some(0.3)}, sym.Name("drop"))
	x = sym.SoftmaxOutput(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2},
		sym.Name("fc2")), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
	train, err := dots(100, dataio.Pad)
	if err != nil {
		t.Fatal(err)
	}
	m := module.New(x, module.Seed(5))
	if err := m.Fit(t.Context(), train, module.Epochs(epochs), module.Init(initializer.Xavier{}),
		module.Optimize(optimizer.Adam{LR: 0.05}), module.Resume(prefix)); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRunOfTheFormerRelease continues a run that an earlier release has saved after two epochs. It
// ends after four with the history and the parameters of a run that makes all four itself, up to
// the rounding errors of other kernels.
func TestRunOfTheFormerRelease(t *testing.T) {
	if *releaseWrite != "" {
		releaseRun(t, *releaseWrite, 2)
		return
	}
	prefix := filepath.Join(t.TempDir(), "m")
	b, err := os.ReadFile(checkpoint.RunPath(formerRun))
	if err == nil {
		err = os.WriteFile(checkpoint.RunPath(prefix), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := releaseRun(t, prefix, 4)
	want := releaseRun(t, filepath.Join(t.TempDir(), "n"), 4)
	if n := len(got.History().Epochs); n != 4 {
		t.Errorf("the history has %d epochs, want 4", n)
	}
	if files, _ := filepath.Glob(prefix + "-0001.params"); len(files) > 0 {
		t.Error("the run has begun anew: there is a checkpoint of its first epoch")
	}
	args, _ := got.Params()
	wanted, _ := want.Params()
	for name, a := range wanted {
		if d := distance(t, args[name], a); d > 1e-3 {
			t.Errorf("%s differs by %g from a run of this release", name, d)
		}
	}
}

// distance returns the greatest difference between the elements of two arrays.
func distance(t *testing.T, a, b *nd.Array) (most float64) {
	t.Helper()
	x, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Float32s()
	if err != nil || len(x) != len(y) {
		t.Fatalf("%d and %d elements, %v", len(x), len(y), err)
	}
	for i := range x {
		most = max(most, math.Abs(float64(x[i])-float64(y[i])))
	}
	return most
}
