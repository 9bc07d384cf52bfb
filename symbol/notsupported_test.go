package symbol_test

import (
	"fmt"
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

// TestSparseOptionsAreSilent: options that ask for sparse arrays have an effect, and no notice says
// otherwise.
func TestSparseOptionsAreSilent(t *testing.T) {
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
	if len(got) != 0 {
		t.Errorf("notices %q, want none", got)
	}
}
