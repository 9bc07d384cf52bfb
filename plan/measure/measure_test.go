package measure_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/plan/measure"
	sym "gomx/symbol"
)

// TestMain lets the test be the processes of its measurements.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == measure.NodeCommand {
		if err := measure.RunNode(context.Background(), os.Args[2], os.Stdin,
			os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func measurer(t *testing.T) *measure.Measurer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("measurements read /proc, which this system does not have")
	}
	return &measure.Measurer{Program: []string{exe, measure.NodeCommand}, Dir: t.TempDir(), Once: true}
}

// tiny is a network that is measured in no time.
func tiny() (*sym.Symbol, map[string]dtype.Shape) {
	x := sym.Activation(sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8}),
		sym.ActivationParams{ActType: "relu"})
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3})
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax")),
		map[string]dtype.Shape{"data": {16, 10}}
}

// A network is measured once; the second time its figures come from the file. They are of the same
// segments, and positive.
func TestComputeIsKept(t *testing.T) {
	m, folder := measurer(t), t.TempDir()
	s, shapes := tiny()
	c, err := m.Open(folder, "1", false)
	if err != nil {
		t.Fatal(err)
	}
	n, first, err := c.Compute(t.Context(), s, shapes, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Seconds) != len(n.Segments) || first.Step() <= 0 || first.Memory < 1<<20 ||
		first.Arrays != n.Arrays.Total() || len(first.Speeds) == 0 {
		t.Errorf("figures %+v of %d segments", first, len(n.Segments))
	}
	again, err := m.Open(folder, "1", false)
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := again.Compute(t.Context(), s, shapes, 1)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("figures of the file %v, want %v", second, first)
	}
	other, err := m.Open(folder, "2", false)
	if err != nil {
		t.Fatal(err)
	}
	_, third, err := other.Compute(t.Context(), s, shapes, 1)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(first) == fmt.Sprint(third) {
		t.Error("another version has the figures of the file")
	}
}

// A damaged file is measured anew.
func TestDamagedFile(t *testing.T) {
	m, folder := measurer(t), t.TempDir()
	s, shapes := tiny()
	for range 2 {
		c, err := m.Open(folder, "1", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Compute(t.Context(), s, shapes, 1); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "host-*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v, %v, want one", files, err)
		}
		if err := os.WriteFile(files[0], []byte(`{"format": 1, "networks": [`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The error of a process has its last line.
func TestErrorsOfProcesses(t *testing.T) {
	m := measurer(t)
	s, _ := tiny()
	_, _, err := m.Compute(t.Context(), s, map[string]dtype.Shape{"data": {1, 10}}, 1)
	if err != nil {
		t.Fatal(err) // one sample is enough
	}
	m.Program[1] = "no-such-command"
	m.Program = append(m.Program[:1], "-test.no-such-flag")
	if _, _, err := m.Compute(t.Context(), s, map[string]dtype.Shape{"data": {1, 10}},
		1); err == nil ||
		!strings.Contains(err.Error(), "measure: ") {
		t.Errorf("got %v, want the error of the process", err)
	}
}
