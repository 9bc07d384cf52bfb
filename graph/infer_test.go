package graph_test

import (
	"slices"
	"testing"

	"gomx/graph"
	"gomx/op"
	_ "gomx/op/index"
	_ "gomx/op/loss"
	"gomx/op/prim"
)

// TestStored infers the storage types of a factorization machine's first terms and of their
// gradients, as MXNet does.
func TestStored(t *testing.T) {
	x, w, v := op.Var("data"), op.Var("w"), op.Var("v")
	kinds := map[*op.Node]op.Storage{x: op.CSR, w: op.RowSparse, v: op.RowSparse}
	vars := func(n *op.Node) op.Storage { return kinds[n] }
	linear := prim.Dot.Apply(prim.DotParams{}, x.Entry(0), w.Entry(0))
	squares := prim.Square.Apply(op.NoParams{}, x.Entry(0))
	cosines := prim.Cos.Apply(op.NoParams{}, v.Entry(0)) // has no kernel for sparse operands
	both := prim.Dot.Apply(prim.DotParams{}, squares, cosines)
	out := prim.ElemwiseAdd.Apply(op.NoParams{}, linear, both)
	known := graph.Stored([]op.Entry{out}, vars)
	want := map[op.Entry]op.Storage{x.Entry(0): op.CSR, w.Entry(0): op.RowSparse,
		v.Entry(0): op.RowSparse, squares: op.CSR}
	for e, s := range want {
		if known[e] != s {
			t.Errorf("%v is %v, want %v", e, known[e], s)
		}
	}
	if len(known) != len(want) {
		t.Errorf("%d sparse entries %v, want %d", len(known), known, len(want))
	}
	got, composed, err := graph.StoredGradients([]op.Entry{out}, []op.Entry{x.Entry(0), w.Entry(0),
		v.Entry(0)}, vars)
	if want := []op.Storage{op.Dense, op.RowSparse, op.RowSparse}; err != nil ||
		!slices.Equal(got, want) || !composed {
		t.Errorf("gradients are %v, composed %t, %v, want %v", got, composed, err, want)
	}
}
