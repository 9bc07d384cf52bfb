package export_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"gomx/internal/conformance"
	"gomx/interop/onnx/export"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

var (
	goldenDir = flag.String("golden", "../../../../shared/golden", "folder of the golden data")
	rewrite   = flag.Bool("rewrite", false, "write the lists of docs/onnx.md")
)

// goldenCase is a case of one operator; the fields that an export needs.
type goldenCase struct {
	ID          string
	Op, File    string
	Attrs       map[string]string
	IsTrain     bool `json:"is_train"`
	Inputs, Aux []conformance.Ref
	Outputs     []conformance.Ref
	Undefined   []int `json:"undefined_outputs"`
}

// goldenCases reads the cases of single operators.
func goldenCases(t *testing.T) ([]*goldenCase, *conformance.Golden) {
	t.Helper()
	g, err := conformance.Open(*goldenDir)
	if err != nil {
		t.Skip("no golden data")
	}
	t.Cleanup(func() { g.Close() })
	var index struct{ Cases []*goldenCase }
	if err := g.Part("ops/cases.json", &index); err != nil {
		t.Fatal(err)
	}
	return index.Cases, g
}

// model makes the graph of a case: variables, and one node.
func (c *goldenCase) model(g *conformance.Golden) (*model, error) {
	type node struct {
		Op     string            `json:"op"`
		Name   string            `json:"name"`
		Attrs  map[string]string `json:"attrs,omitempty"`
		Inputs [][3]int          `json:"inputs"`
	}
	var nodes []node
	var args []int
	m := &model{inputs: map[string]*nd.Array{}, training: c.IsTrain}
	last := node{Op: c.Op, Name: "op", Attrs: c.Attrs, Inputs: [][3]int{}}
	for i, r := range slices.Concat(c.Inputs, c.Aux) {
		nodes = append(nodes, node{Op: "null", Name: r.Name, Inputs: [][3]int{}})
		args, last.Inputs = append(args, i), append(last.Inputs, [3]int{i, 0, 0})
		a, err := g.Array("ops/"+c.File, r)
		if err != nil {
			return nil, err
		}
		m.inputs[r.Name] = nd.Empty(a.Shape, nd.As(a.DType))
		if err := m.inputs[r.Name].WriteBytes(a.Data); err != nil {
			return nil, err
		}
	}
	nodes = append(nodes, last)
	var heads [][3]int
	for i := range c.Outputs {
		heads = append(heads, [3]int{len(nodes) - 1, i, 0})
	}
	data, err := json.Marshal(map[string]any{"nodes": nodes, "arg_nodes": args, "heads": heads,
		"attrs": map[string]any{"mxnet_version": []any{"int", 10901}}})
	if err != nil {
		return nil, err
	}
	m.Symbol, err = sym.Load(data)
	return m, err
}

// TestGoldenOperators exports the cases of single operators and imports them again.
func TestGoldenOperators(t *testing.T) {
	cases, g := goldenCases(t)
	var left []string
	passed := 0
	for _, c := range cases {
		m, err := c.model(g)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		file, err := m.exported()
		var unsupported *export.Unsupported
		if errors.As(err, &unsupported) {
			left = append(left, c.ID+"\t"+unsupported.Operators[0])
			continue
		}
		if err != nil {
			t.Errorf("%s: export: %v", c.ID, err)
			continue
		}
		if err := c.roundTrip(m, file); err != nil {
			t.Errorf("%s %v: %v", c.ID, c.Attrs, err)
			continue
		}
		passed++
	}
	if *rewrite {
		writeLists(t, passed, left)
	}
	fmt.Printf("TestGoldenOperators: %d of %d cases pass\n", passed, len(cases))
	if passed < 500 {
		t.Errorf("%d cases pass, want at least 500", passed)
	}
}

// roundTrip compares import(export(x)) with x.
func (c *goldenCase) roundTrip(m *model, file []byte) error {
	want, err := m.run()
	if err != nil {
		return err
	}
	got, err := m.imported(file)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	for i := range want {
		if slices.Contains(c.Undefined, i) {
			continue
		}
		if err := compare(got[i:i+1], want[i:i+1], tolerance{1e-6, 1e-6}); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// writeLists writes the cases that are not exported, by reason, into the documentation.
func writeLists(t *testing.T, passed int, left []string) {
	t.Helper()
	byReason := map[string][]string{}
	for _, line := range left {
		id, why, _ := strings.Cut(line, "\t")
		why = strings.Replace(why, ` at node "op"`, "", 1)
		byReason[why] = append(byReason[why], id)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases pass, %d do not:\n\n| reason | cases |\n|---|---|\n", passed,
		len(left))
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(&b, "| %s | %s |\n", why, strings.Join(byReason[why], ", "))
	}
	const path = "../../../docs/onnx.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- exports: begin -->\n", "<!-- exports: end -->"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lacks %q and %q", path, begin, end)
	}
	if err := os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lacking are cases whose types ONNX Runtime has no kernel for on the processor.
var lacking = map[string]string{"Convolution.020": "Conv of float64"}

// TestGoldenRuntime runs the cases of single operators with ONNX Runtime.
func TestGoldenRuntime(t *testing.T) {
	r := newRuntime(t)
	cases, g := goldenCases(t)
	var run []*goldenCase
	var models []*model
	for _, c := range cases {
		m, err := c.model(g)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		file, err := m.exported()
		if err != nil {
			continue // TestGoldenOperators reports it
		}
		if err := r.add(m, file); err != nil {
			t.Fatal(err)
		}
		run, models = append(run, c), append(models, m)
	}
	r.run(t)
	passed := 0
	for i, c := range run {
		if err := c.beside(models[i], r, i); err != nil {
			if why := lacking[c.ID]; why != "" && strings.Contains(err.Error(), "NOT_IMPLEMENTED") {
				continue
			}
			t.Errorf("%s %v: %v", c.ID, c.Attrs, err)
			continue
		}
		passed++
	}
	fmt.Printf("TestGoldenRuntime: %d of %d cases pass\n", passed, len(cases))
}

// beside compares the results of ONNX Runtime with those of gomx.
func (c *goldenCase) beside(m *model, r *runtime, i int) error {
	want, err := m.run()
	if err != nil {
		return err
	}
	got, err := r.outputs(i)
	if err != nil {
		return err
	}
	for i := range want {
		if slices.Contains(c.Undefined, i) {
			continue
		}
		if err := compare(got[i:i+1], want[i:i+1], tolerance{1e-5, 1e-5}); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}
