package export_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

var python = flag.String("python", "", "Python interpreter that can import onnx and onnxruntime")

// runtime runs models with ONNX Runtime, all of them in one process of Python.
type runtime struct {
	dir   string
	names []string
}

// newRuntime skips the test where there is no interpreter.
func newRuntime(t *testing.T) *runtime {
	t.Helper()
	if *python == "" {
		t.Skip("wants an interpreter: -python PYTHON, or make onnx PYTHON=python3")
	}
	return &runtime{dir: t.TempDir()}
}

// described is an array in the files for Python.
type described struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// add writes a model and the values of its inputs.
func (r *runtime) add(m *model, file []byte) error {
	r.names = append(r.names, fmt.Sprintf("%06d", len(r.names)))
	dir := filepath.Join(r.dir, r.names[len(r.names)-1])
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var list []described
	for i, name := range m.names() {
		a := m.inputs[name]
		list = append(list, described{name, a.DType().String(), a.Shape()})
		raw := make([]byte, a.Bytes())
		if err := a.ReadBytes(context.Background(), raw); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%d.bin", i)), raw,
			0o644); err != nil {
			return err
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "inputs.json"), text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.onnx"), file, 0o644)
}

// run starts Python.
func (r *runtime) run(t *testing.T) {
	t.Helper()
	out, err := exec.Command(*python, "testdata/run.py", r.dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// outputs reads the results of model i.
func (r *runtime) outputs(i int) ([]*nd.Array, error) {
	dir := filepath.Join(r.dir, r.names[i])
	if text, err := os.ReadFile(filepath.Join(dir, "error.txt")); err == nil {
		line, _, _ := strings.Cut(string(text), "\n")
		return nil, fmt.Errorf("%s", line)
	}
	text, err := os.ReadFile(filepath.Join(dir, "outputs.json"))
	if err != nil {
		return nil, err
	}
	var list []described
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var arrays []*nd.Array
	for k, d := range list {
		typ, err := dtype.Parse(d.DType)
		if err != nil {
			return nil, err
		}
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out%d.bin", k)))
		if err != nil {
			return nil, err
		}
		a := nd.Empty(d.Shape, nd.As(typ))
		if err := a.WriteBytes(raw); err != nil {
			return nil, err
		}
		arrays = append(arrays, a)
	}
	return arrays, nil
}
