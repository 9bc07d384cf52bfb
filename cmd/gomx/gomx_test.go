package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"gomx/checkpoint"
	"gomx/dtype"
	sym "gomx/symbol"
)

// gomx runs the command line and returns its output.
func gomx(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := root(zerolog.Nop())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVersion(t *testing.T) {
	out, err := gomx(t, "version")
	if err != nil || !strings.HasPrefix(out, "gomx "+version) || strings.Count(out, "\n") != 1 {
		t.Errorf("got %q, %v", out, err)
	}
	out, err = gomx(t, "version", "--cpu")
	if err != nil || !strings.Contains(out, "\nproducts in bfloat16: ") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestInspectParams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x-0001.params")
	var b bytes.Buffer
	err := checkpoint.WriteList(&b, []*checkpoint.Record{
		{Name: "arg:w", Version: checkpoint.V2, DType: dtype.Float32, Shape: dtype.Shape{2, 3},
			Data: make([]byte, 24)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := gomx(t, "inspect", path)
	if err != nil || !strings.Contains(out, "arg:w") || !strings.Contains(out, "24 bytes") {
		t.Errorf("got %q, %v", out, err)
	}
	out, err = gomx(t, "inspect", path, "-o", "json")
	var rows []row
	if err != nil || json.Unmarshal([]byte(out), &rows) != nil || rows[0].Bytes != 24 {
		t.Errorf("got %q, %v", out, err)
	}
	if err := os.WriteFile(path, b.Bytes()[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gomx(t, "inspect", path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v for a truncated file, want an error that names it", err)
	}
}

func TestInspectSymbol(t *testing.T) {
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 10},
		sym.Name("fc"))
	text, err := net.JSON()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x-symbol.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := gomx(t, "inspect", path)
	if err != nil || !strings.Contains(out, "FullyConnected") ||
		!strings.Contains(out, "num_hidden=10") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestTrace(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args, file string
		want       []string
	}{
		{"trace lenet --batch 1", "step.svg", []string{"<svg", "worker", "conv1", "fc1_weight",
			">backward<", ">update<", "wait for the outputs"}},
		{"trace lenet --batch 1", "step.json", []string{`"traceEvents"`, `"sgd_mom_update"`,
			`"push backward"`}},
		{"trace lenet --batch 1 --simulate", "null.svg", []string{"<svg", "null(0) copy in",
			"null(0) compute", "null(0) copy out", "batch 2", "fc1_weight", ">forward<",
			">update<"}},
	} {
		path := filepath.Join(dir, tt.file)
		if _, err := gomx(t, append(strings.Fields(tt.args), "-o", path)...); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !bytes.Contains(got, []byte(want)) {
				t.Errorf("%s: %q is missing", tt.args, want)
			}
		}
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"inspect"}, {"inspect", "x", "-o", "xml"},
		{"bench", "local", "--peer", "nope"}, {"bench", "local", "--peer",
			"mxnet=python,nope=python"}, {"version", "--nope"},
		{"trace", "vgg"}, {"trace", "lenet", "-o", "x.png"}, {"trace", "lenet", "--batch", "0"}} {
		_, err := gomx(t, args...)
		if err == nil || exitCode(err) != exitUsage {
			t.Errorf("%v: got %v, want an error with exit code %d", args, err, exitUsage)
		}
	}
	if _, err := gomx(t, "inspect", "no-such-file"); err == nil || exitCode(err) != exitFailure {
		t.Errorf("got %v for a missing file, want exit code %d", err, exitFailure)
	}
}
