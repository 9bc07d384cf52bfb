package trainer

import (
	"testing"

	"gomx/op"
	sym "gomx/symbol"
)

// TestRowsRead looks for the rows of w that networks read.
func TestRowsRead(t *testing.T) {
	x, ids := sym.Var("x"), sym.Var("ids")
	w := sym.Var("w", sym.Shape(10, 2))
	table := sym.EmbeddingParams{InputDim: 10, OutputDim: 2}
	dot := func(a, b *sym.Symbol) *sym.Symbol { return sym.Dot(a, b, sym.DotParams{}) }
	rows := sym.ReduceParams{Axis: []int{1}, KeepDims: true}
	look := sym.Embedding(ids, table, sym.With("weight", w))
	twice := sym.MulScalar(ids, sym.ScalarParams{Scalar: 2}, sym.Name("twice"))
	for _, tt := range []struct {
		name    string
		net     *sym.Symbol
		uses    int
		columns bool
		of      string // node that numbers the rows
		whole   string // operator that reads all
	}{
		{"lookup", look, 1, false, "ids", ""},
		{"computed numbers", sym.Embedding(twice, table, sym.With("weight", w)), 1, false, "twice", ""},
		{"take", sym.Take(sym.Square(w), ids, sym.TakeParams{}), 1, false, "ids", ""},
		{"take that wraps", sym.Take(w, ids, sym.TakeParams{Mode: "wrap"}), 0, false, "", "take"},
		{"take of columns", sym.Take(w, ids, sym.TakeParams{Axis: 1}), 0, false, "", "take"},
		{"product", dot(x, w), 1, true, "x", ""},
		{"product of squares", dot(sym.Square(x), sym.SquareSum(w, sym.SquareSumParams(rows))), 1,
			true, "x", ""},
		{"sums of rows", dot(x, sym.Sum(w, rows)), 1, true, "x", ""},
		{"transposed product", sym.Dot(x, w, sym.DotParams{TransposeA: true}), 0, false, "", "dot"},
		{"product with dense data", dot(ids, w), 0, false, "", "dot"},
		{"two uses", sym.Group(look, dot(x, w)), 2, false, "ids", ""},
		{"the sum", sym.Group(look, sym.Sum(w, sym.ReduceParams{})), 0, false, "", "sum"},
		{"the sum over rows", sym.Sum(w, sym.ReduceParams{Axis: []int{0}}), 0, false, "", "sum"},
		{"an output", sym.Group(look, w), 0, false, "", "w"},
		{"no use", sym.Square(x), 0, false, "", ""},
	} {
		if err := tt.net.Err(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		uses, whole := rowsRead(tt.net.Entries(), w.Entries()[0].Node,
			func(v *op.Node) op.Storage {
				if v == x.Entries()[0].Node {
					return op.CSR
				}
				return op.Dense
			})
		reader := ""
		if whole != nil && whole.IsVar() {
			reader = whole.Name
		} else if whole != nil {
			reader = whole.Op.Name
		}
		if len(uses) != tt.uses || reader != tt.whole {
			t.Errorf("%s: %d uses, and %q reads all rows, want %d and %q", tt.name, len(uses), reader,
				tt.uses, tt.whole)
			continue
		}
		if len(uses) > 0 && (uses[0].columns != tt.columns || uses[0].of.Node.Name != tt.of) {
			t.Errorf("%s: rows of %s, columns %v, want %s and %v", tt.name, uses[0].of.Node.Name,
				uses[0].columns, tt.of, tt.columns)
		}
	}
}
