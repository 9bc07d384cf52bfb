package symbol_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// TestOperatorsOfOtherKinds loads files with operators of MXNet that do not run here: errors name
// node and operator.
func TestOperatorsOfOtherKinds(t *testing.T) {
	for name, want := range map[string]string{
		"_npi_add": "NumPy operators", "_np_sum": "NumPy operators",
		"_npx_nonzero": "NumPy operators", "_Native": "is not supported yet",
		"_NDArray": "is not supported yet", "Nope": "unknown operator",
	} {
		for _, subgraphs := range []string{"", `, "subgraphs": [{}]`} {
			file := fmt.Sprintf(`{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": %q, "name": "layer7", "inputs": [[0, 0, 0]]%s}],`+
				` "arg_nodes": [0], "heads": [[1, 0, 0]]}`, name, subgraphs)
			_, err := sym.Load([]byte(file))
			if err == nil || !strings.Contains(err.Error(), "layer7") ||
				!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want an error with layer7, the name and %q", name, err, want)
			}
		}
		if o, err := op.Find(name); o != nil || err == nil {
			t.Errorf("op.Find(%q) = %v, %v, want an error", name, o, err)
		}
	}
	if o, err := op.Find("_npx_dropout"); err != nil || o.Name != "Dropout" {
		t.Errorf("op.Find of an alias: %v, %v", o, err)
	}
}

// TestSparseOptionsAreNoted checks that options which ask for sparse arrays say once that they have
// no effect.
func TestSparseOptionsAreNoted(t *testing.T) {
	var got []string
	old := op.NoticesTo(func(text string) { got = append(got, text) })
	defer func() { op.NoticesTo(old) }()
	for range 2 {
		w := sym.Var("w", sym.StorageType(sym.StorageRowSparse))
		net := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: 3, OutputDim: 2,
			SparseGrad: true}, sym.With("weight", w))
		text, err := net.JSON()
		if err != nil {
			t.Fatal(err)
		}
		file, err := sym.Load(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*sym.Symbol{net, file} {
			if _, _, _, err := s.InferShape(map[string]dtype.Shape{"data": {4}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(got) != 1 || !strings.Contains(got[0], "storage type row_sparse") {
		t.Errorf("notices %q, want one of the storage type", got)
	}
}

// TestSparseParametersAreNoted: every parameter that asks for lazy updates says once that it has
// no effect, and is silent where it asks for nothing.
func TestSparseParametersAreNoted(t *testing.T) {
	var got []string
	old := op.NoticesTo(func(text string) { got = append(got, text) })
	defer func() { op.NoticesTo(old) }()
	sparse, found := regexp.MustCompile("^lazy"), 0
	for _, o := range op.All() {
		for _, p := range o.Params() {
			if o.Hidden || !sparse.MatchString(p.Name) {
				continue
			}
			found++
			values := p.Enum
			if len(values) == 0 {
				values = []string{"True", "False"}
			}
			for _, v := range values {
				op.NoticesTo(func(text string) { got = append(got, text) })
				got = nil
				attrs := map[string]string{p.Name: v}
				for _, q := range o.Params() {
					if q.Required {
						attrs[q.Name] = "1"
					}
				}
				for range 2 {
					if _, err := o.ParseParams(attrs); err != nil {
						t.Fatalf("%s: %v", o.Name, err)
					}
				}
				want := 1
				if v == p.Default {
					want = 0
				}
				if len(got) != want || want == 1 &&
					!strings.Contains(got[0], p.Name+" of "+o.Name+" has no effect") {
					t.Errorf("%s of %s = %s: notices %q, want %d that names both", p.Name, o.Name,
						v, got, want)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("%d parameters, want those of three updates at least", found)
	}
}
