package onnx_test

import (
	"flag"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx"
	nd "gomx/ndarray"
)

var python = flag.String("python", "",
	"Python interpreter that can import onnx, onnxruntime and ml_dtypes")

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
