package onnx_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/interop/onnx"
	nd "gomx/ndarray"
)

var (
	nodeDir = flag.String("onnx", "", "folder of ONNX's node tests: backend/test/data/node of the "+
		"Python package onnx")
	rewrite = flag.Bool("rewrite", false, "write the list of cases that do not pass")
)

// The tolerances of ONNX's own runner.
const (
	relative = 1e-3
	absolute = 1e-7
)

// tensor is a value of a case.
type tensor struct {
	array *nd.Array
	shape dtype.Shape
}

// readTensor reads a file of a case.
func readTensor(path string) (tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return tensor{}, err
	}
	a, shape, err := onnx.Tensor(data)
	return tensor{a, shape}, err
}

// readTensors reads input_0.pb, input_1.pb and so on, or outputs.
func readTensors(folder, kind string) ([]tensor, error) {
	var list []tensor
	for i := 0; ; i++ {
		path := filepath.Join(folder, fmt.Sprintf("%s_%d.pb", kind, i))
		if _, err := os.Stat(path); err != nil {
			return list, nil
		}
		t, err := readTensor(path)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", kind, i, err)
		}
		list = append(list, t)
	}
}

// runCase imports the model of a case and compares its outputs with the expected ones.
func runCase(dir string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	path := filepath.Join(dir, "model.onnx")
	f, err := onnx.Open(path)
	if err != nil {
		return err
	}
	var names []string
	for _, in := range f.Inputs() {
		names = append(names, in.Name)
	}
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil || len(sets) == 0 {
		return fmt.Errorf("no data in %s (%v)", dir, err)
	}
	for _, set := range sets {
		inputs, err := readTensors(set, "input")
		if err != nil {
			return err
		}
		outputs, err := readTensors(set, "output")
		if err != nil {
			return err
		}
		if err := runSet(path, names, inputs, outputs); err != nil {
			return err
		}
	}
	return nil
}

// runSet imports a model for one set of values. Inputs that decide about shapes become constants;
// the others stay inputs.
func runSet(path string, names []string, inputs, outputs []tensor) error {
	values, shapes := map[string]*nd.Array{}, map[string]dtype.Shape{}
	for i, t := range inputs {
		if i >= len(names) {
			return fmt.Errorf("%d values for %d inputs", len(inputs), len(names))
		}
		values[names[i]], shapes[names[i]] = t.array, t.shape
	}
	fixed := map[string]*nd.Array{}
	m, err := onnx.Load(path, onnx.Shapes(shapes), onnx.Values(fixed))
	for need := (*onnx.NotConstant)(nil); errors.As(err, &need) && need.Input != "" &&
		fixed[need.Input] == nil; {
		fixed[need.Input] = values[need.Input]
		m, err = onnx.Load(path, onnx.Shapes(shapes), onnx.Values(fixed))
	}
	if err != nil {
		return err
	}
	for _, in := range m.Inputs {
		if values[in.Name], err = bfloat(values[in.Name], in.Type); err != nil {
			return err
		}
	}
	got, err := m.Symbol.Eval(device.CPU(), m.Values(values))
	if err != nil {
		return err
	}
	if len(got) != len(outputs) {
		return fmt.Errorf("got %d outputs, want %d", len(got), len(outputs))
	}
	for i, want := range outputs {
		if want.array, err = bfloat(want.array, m.Outputs[i].Type); err != nil {
			return err
		}
		if err := compare(got[i], m.Outputs[i].Shape, want); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// bfloat reads the bits of an array of uint16 as bfloat16, if a model has that type. NumPy lacks it,
// so files of ONNX's tests have the bits.
func bfloat(a *nd.Array, t dtype.Type) (*nd.Array, error) {
	if t != dtype.BFloat16 || a == nil || a.DType() != dtype.Uint16 {
		return a, nil
	}
	bits := make([]byte, a.Bytes())
	if err := a.ReadBytes(context.Background(), bits); err != nil {
		return nil, err
	}
	b := nd.Empty(a.Shape(), nd.As(t))
	return b, b.WriteBytes(bits)
}

// compare compares an output with the expected values.
func compare(got *nd.Array, shape dtype.Shape, want tensor) error {
	if !shape.Equal(want.shape) || got.DType() != want.array.DType() {
		return fmt.Errorf("got shape %v and type %v, want %v and %v", shape, got.DType(), want.shape,
			want.array.DType())
	}
	a, err := numbers(got)
	if err != nil {
		return err
	}
	b, err := numbers(want.array)
	if err != nil {
		return err
	}
	if len(a) != len(b) {
		return fmt.Errorf("got %d elements, want %d", len(a), len(b))
	}
	rtol, atol := relative, absolute
	if !got.DType().IsFloat() {
		rtol, atol = 0, 0
	}
	for i := range a {
		same := a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i])
		if !same && !(math.Abs(a[i]-b[i]) <= atol+rtol*math.Abs(b[i])) {
			return fmt.Errorf("results differ: got %v at element %d, want %v", a[i], i, b[i])
		}
	}
	return nil
}

// numbers returns the values of an array as float64.
func numbers(a *nd.Array) ([]float64, error) {
	return nd.Values[float64](nd.Cast(a, nd.CastParams{DType: dtype.Float64}))
}

// knownFile lists the cases of ONNX that do not pass, with reasons.
const knownFile = "testdata/failing.txt"

// readKnown reads the list of cases that do not pass.
func readKnown(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(knownFile)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		name, reason, _ := strings.Cut(line, "\t")
		known[name] = reason
	}
	return known
}

// TestNodes runs ONNX's node tests. testdata/failing.txt lists the cases that do not pass: no other
// case may fail, and none of the list may pass.
func TestNodes(t *testing.T) {
	if *nodeDir == "" {
		t.Skip("wants the folder of ONNX's node tests: -onnx DIR, or make onnx PYTHON=python3")
	}
	entries, err := os.ReadDir(*nodeDir)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	if !*rewrite {
		known = readKnown(t)
	}
	var failing []string
	passed := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_expanded") || strings.Contains(e.Name(), "_expanded_") {
			continue
		}
		err := runCase(filepath.Join(*nodeDir, e.Name()))
		_, expected := known[e.Name()]
		switch {
		case err == nil:
			passed++
			if expected {
				t.Errorf("%s passes, and %s has it: run the test with -rewrite", e.Name(), knownFile)
			}
		case *rewrite || expected:
			failing = append(failing, e.Name()+"\t"+reason(err))
		default:
			t.Errorf("%s: %v", e.Name(), err)
			failing = append(failing, e.Name())
		}
	}
	if *rewrite {
		writeLists(t, passed, failing)
	}
	fmt.Printf("TestNodes: %d passed, %d failed\n", passed, len(failing))
}

// reason is an error in one line, without the name of the file.
func reason(err error) string {
	var missing *onnx.Missing
	if errors.As(err, &missing) {
		var names []string
		for _, o := range missing.Operators {
			name, _, _ := strings.Cut(o, " ")
			names = append(names, name)
		}
		return "no operator " + strings.Join(slices.Compact(names), ", ")
	}
	text := err.Error()
	if i := strings.Index(text, "model.onnx: "); i >= 0 {
		text = text[i+len("model.onnx: "):]
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// writeLists writes the list of cases that do not pass, and the page of the documentation.
func writeLists(t *testing.T, passed int, failing []string) {
	t.Helper()
	sort.Strings(failing)
	if err := os.WriteFile(knownFile, []byte(strings.Join(failing, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	byReason := map[string][]string{}
	for _, line := range failing {
		name, why, _ := strings.Cut(line, "\t")
		byReason[why] = append(byReason[why], strings.TrimPrefix(name, "test_"))
	}
	reasons := make([]string, 0, len(byReason))
	for why := range byReason {
		reasons = append(reasons, why)
	}
	sort.Strings(reasons)
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases pass, %d do not:\n\n| reason | cases |\n|---|---|\n", passed,
		len(failing))
	for _, why := range reasons {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(why, "|", "\\|"),
			strings.Join(byReason[why], ", "))
	}
	if err := replaceSection("../../docs/onnx.md", "cases", b.String()); err != nil {
		t.Fatal(err)
	}
}

// replaceSection replaces the text between two comments of a page.
func replaceSection(path, name, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	i, j := strings.Index(string(data), begin), strings.Index(string(data), end)
	if i < 0 || j < i {
		return fmt.Errorf("%s lacks %q and %q", path, begin, end)
	}
	page := string(data[:i]) + begin + text + string(data[j:])
	return os.WriteFile(path, []byte(page), 0o644)
}
