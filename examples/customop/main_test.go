package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func Example() {
	main()
	// Output:
	// [-0.09485175  0.          1.9051483 ]
	// <Array 3 cpu(0)>
	// [-0.08810411  0.5         1.0881041 ]
	// <Array 3 cpu(0)>
	// learnt a sine: true
}

// The gradient is made of nodes, so that it has a gradient itself.
func TestSecondDerivative(t *testing.T) {
	x := nd.FromSlice([]float32{0.7})
	x.AttachGrad()
	slope := func(v float64) float64 {
		s := 1 / (1 + math.Exp(-2*v))
		return s + 2*v*s*(1-s)
	}
	y := nd.Apply(Swish, SwishParams{Beta: nd.Some(2.0)}, autograd.Train().Watch(x))
	g, err := autograd.Grad([]*nd.Array{y}, []*nd.Array{x}, autograd.CreateGraph())
	if err != nil {
		t.Fatal(err)
	}
	g[0].Backward()
	got, err := x.Grad().Item()
	if want := (slope(0.7+1e-4) - slope(0.7-1e-4)) / 2e-4; err != nil || math.Abs(got-want) > 1e-4 {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// The operator travels in symbol files under its name and with its parameters.
func TestSymbolFile(t *testing.T) {
	text, err := sym.Apply(Swish, SwishParams{Beta: sym.Some(1.5)}, sym.Var("data")).JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"op": "swish"`, `"beta": "1.5"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s does not contain %s", text, part)
		}
	}
	if _, err := sym.Load(text); err != nil {
		t.Error(err)
	}
}

// buildMode returns the flags of this build that decide whether packages must be compiled again.
func buildMode() (flags []string) {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			flags = append(flags, s.Key)
		}
	}
	return flags
}

// TestOutsideTheTree builds and runs this program in a module of its own, offline. It takes seconds
// because the packages have been compiled for this test already.
func TestOutsideTheTree(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil || testing.Short() {
		t.Skip("wants the go command and some seconds")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for from, to := range map[string]string{"main.go": "main.go", "../../go.sum": "go.sum",
		"../../go.mod": "go.mod"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if to == "go.mod" {
			text = []byte(strings.Replace(string(text), "module gomx\n",
				"module swish\n\nrequire gomx v0.0.0\n\nreplace gomx => "+root+"\n", 1))
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), goTool, slices.Concat([]string{"run"}, buildMode(),
		[]string{"."})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off",
		"GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "learnt a sine: true\n") {
		t.Errorf("got %v and\n%s", err, out)
	}
}
