package onnx_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx"
	nd "gomx/ndarray"
)

var python = flag.String("python", "",
	"Python interpreter that can import onnx, onnxruntime and ml_dtypes")

var attentionModels = flag.String("attention", "",
	"folder with the models of testdata/make_attention.py; without it -python makes them")

// TestRuntimeQDQ imports models that onnxruntime.quantization has made of a small network, and
// compares with ONNX Runtime's outputs: single roundings make the difference.
func TestRuntimeQDQ(t *testing.T) {
	if *python == "" {
		t.Skip("wants an interpreter: -python PYTHON, or make onnx PYTHON=python3")
	}
	dir := t.TempDir()
	if text, err := exec.Command(*python, "testdata/make_qdq.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*", "model.onnx"))
	if err != nil || len(cases) != 6 {
		t.Fatalf("%d models (%v), want 6", len(cases), err)
	}
	for _, path := range cases {
		set := filepath.Join(filepath.Dir(path), "test_data_set_0")
		in, err := readTensors(set, "input")
		if err != nil {
			t.Fatal(err)
		}
		out, err := readTensors(set, "output")
		if err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Load(path, onnx.Shapes(map[string]dtype.Shape{"x": in[0].shape}))
		if err != nil {
			t.Fatal(err)
		}
		got := evaluate(t, m.Symbol, m.Values(map[string]*nd.Array{"x": in[0].array}))[0]
		want, err := numbers(out[0].array)
		if err != nil {
			t.Fatal(err)
		}
		off, size := 0.0, 0.0
		for i := range want {
			off, size = max(off, math.Abs(got[i]-want[i])), max(size, math.Abs(want[i]))
		}
		name, n := filepath.Base(filepath.Dir(path)), quantizedOps(m.Symbol)
		t.Logf("%s: %d quantized products, difference %g of %g", name, n, off, size)
		if n != 7 || off > 0.02*size || size < 0.1 {
			t.Errorf("%s: %d quantized products, want 7; difference %g, numbers up to %g", name, n, off,
				size)
		}
	}
}

// TestRuntimeHeads imports Attention and MultiHeadAttention of the domain com.microsoft with past and
// present states and every kind of mask, and compares with ONNX Runtime's outputs.
func TestRuntimeHeads(t *testing.T) {
	if *python == "" {
		t.Skip("wants an interpreter: -python PYTHON, or make onnx PYTHON=python3")
	}
	dir := t.TempDir()
	text, err := exec.Command(*python, "testdata/make_heads.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(cases) != 24 {
		t.Fatalf("%d models (%v), want 24", len(cases), err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(path), func(t *testing.T) { beside(t, path) })
	}
}

// TestRuntimeAttention imports attention that torch has exported in the forms of its own modules and
// of Hugging Face's models: each layer becomes one operator, with ONNX Runtime's numbers.
func TestRuntimeAttention(t *testing.T) {
	dir := *attentionModels
	if dir == "" {
		if *python == "" {
			t.Skip("wants an interpreter: -python PYTHON, or make onnx PYTHON=python3")
		}
		dir = t.TempDir()
		text, err := exec.Command(*python, "testdata/make_attention.py", dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*-*"))
	if err != nil || len(cases) < 60 {
		t.Fatalf("%d models (%v), want at least 60", len(cases), err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if text, err := os.ReadFile(filepath.Join(path, "error.txt")); err == nil {
				t.Skip(string(text))
			}
			attentionCase(t, path)
		})
	}
}

// attentionCase imports one model, in whose name the number of layers comes first.
func attentionCase(t *testing.T, path string) {
	m, values := beside(t, path)
	layers, _, _ := strings.Cut(filepath.Base(path), "-")
	if found := attentions(t, m.Symbol, values); fmt.Sprint(found) != layers {
		t.Errorf("%d operators of attention, want %s", found, layers)
	}
}

// beside imports one model and compares its outputs with those in its folder. It returns the model
// and the values of its arguments.
func beside(t *testing.T, path string) (*onnx.Model, map[string]*nd.Array) {
	t.Helper()
	set := filepath.Join(path, "test_data_set_0")
	in, err := readTensors(set, "input")
	if err != nil {
		t.Fatal(err)
	}
	out, err := readTensors(set, "output")
	if err != nil || len(out) == 0 {
		t.Fatalf("%d outputs: %v", len(out), err)
	}
	f, err := onnx.Open(filepath.Join(path, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	shapes, values := map[string]dtype.Shape{}, map[string]*nd.Array{}
	for i, x := range f.Inputs() {
		shapes[x.Name], values[x.Name] = in[i].shape, in[i].array
	}
	m, err := f.Import(onnx.Shapes(shapes))
	if err != nil {
		t.Fatal(err)
	}
	values = m.Values(values)
	got := evaluate(t, m.Symbol, values)
	for k := range out {
		want, err := numbers(out[k].array)
		if err != nil {
			t.Fatal(err)
		}
		if len(got[k]) != len(want) || !m.Outputs[k].Shape.Equal(out[k].shape) {
			t.Fatalf("output %d of shape %v, want %v", k, m.Outputs[k].Shape, out[k].shape)
		}
		for i, w := range want {
			if d := math.Abs(got[k][i] - w); !(d <= 1e-5*max(1, math.Abs(w))) {
				t.Fatalf("output %d: got %g at element %d, want %g", k, got[k][i], i, w)
			}
		}
	}
	return m, values
}
