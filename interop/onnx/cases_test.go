package onnx_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/hostile"
	"gomx/interop/onnx"
	nd "gomx/ndarray"
)

// TestStoredCases runs the cases that testdata/make_cases.py made.
func TestStoredCases(t *testing.T) {
	entries, err := os.ReadDir("testdata/cases")
	if err != nil || len(entries) < 25 {
		t.Fatalf("%d stored cases (%v), want at least 25", len(entries), err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			if err := runCase(filepath.Join("testdata/cases", e.Name())); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCompareSeesFaults demands that the comparison of the cases can fail.
func TestCompareSeesFaults(t *testing.T) {
	want := tensor{nd.FromSlice([]float32{1, 2}), dtype.Shape{2}}
	for name, got := range map[string]*nd.Array{
		"value": nd.FromSlice([]float32{1, 2.01}),
		"type":  nd.FromSlice([]float64{1, 2}),
	} {
		if err := compare(got, dtype.Shape{2}, want); err == nil {
			t.Errorf("%s: no fault found", name)
		}
	}
	if err := compare(want.array, dtype.Shape{2, 1}, want); err == nil {
		t.Error("shape: no fault found")
	}
	if err := compare(want.array, dtype.Shape{2}, want); err != nil {
		t.Error(err)
	}
}

// TestShapesDisappear demands that the computation of shapes is folded.
func TestShapesDisappear(t *testing.T) {
	m, err := onnx.Load("testdata/cases/shape_chain/model.onnx",
		onnx.Dims(map[string]int{"x0": 2, "x1": 3, "x2": 6, "x3": 5}))
	if err != nil {
		t.Fatal(err)
	}
	if nodes := len(m.Symbol.Nodes()); nodes != 2 || len(m.Args) != 0 {
		t.Errorf("got %d nodes and %d parameters, want 2 and 0", nodes, len(m.Args))
	}
	if got := m.Outputs[0].Shape; !got.Equal(dtype.Shape{2, 90}) {
		t.Errorf("got shape %v, want (2, 90)", got)
	}
}

// TestErrors imports broken models: each error names the broken input or node.
func TestErrors(t *testing.T) {
	const chain = "testdata/cases/shape_chain/model.onnx"
	for _, c := range []struct {
		name string
		opts []onnx.Option
		want string
	}{
		{"open shape", nil, "x (x0, x1, x2, x3): give their extents with Shapes or Dims"},
		{"wrong rank", []onnx.Option{onnx.Shapes(map[string]dtype.Shape{"x": {2}})},
			`input "x": the shape (2,) is given, want 4 axes`},
		{"unknown input", []onnx.Option{onnx.Shapes(map[string]dtype.Shape{"z": {2},
			"x": {1, 1, 1, 1}})}, `Shapes with "z"`},
	} {
		_, err := onnx.Load(chain, c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := onnx.Parse([]byte("no model")); err == nil {
		t.Error("text passes for a model")
	}
}

// models reads the stored models that need no values at import.
func models(t testing.TB) [][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*/model.onnx")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stored models (%v)", err)
	}
	var files [][]byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if need := (*onnx.NotConstant)(nil); !errors.As(decode(data), &need) {
			files = append(files, data)
		}
	}
	return files
}

// extents give the stored models of open shape their shapes.
var extents = onnx.Dims(map[string]int{"x0": 2, "x1": 3, "x2": 6, "x3": 5})

// decode imports a model and frees its constants.
func decode(data []byte) error {
	m, err := onnx.Parse(data, extents)
	if err != nil {
		return err
	}
	for _, a := range m.Args {
		a.Close()
	}
	for _, a := range m.Aux {
		a.Close()
	}
	return nil
}

// TestHostileModels imports damaged models.
func TestHostileModels(t *testing.T) {
	hostile.Kind{Name: "onnx", Seeds: models(t), Decode: decode}.Run(t)
}

// FuzzParse looks for panics.
func FuzzParse(f *testing.F) {
	for _, data := range models(f) {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _ = decode(data) })
}
